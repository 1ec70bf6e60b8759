"""Small tests of the store's modules, on a simulated disk where the disk matters."""
