"""The NameServer: routing tables, processors and the server around them."""
