"""One story of messages for two brokers, and what of their files can be compared."""
