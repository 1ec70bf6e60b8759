"""Who did what, in a file of JSON lines that is written before it is done."""
