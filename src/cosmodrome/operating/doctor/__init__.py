"""What is, or will be, wrong with a server and its machine: one small check for each."""
