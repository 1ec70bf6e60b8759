"""Small tests of one module each, laid out as the package is."""
