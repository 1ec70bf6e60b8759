"""A whole estate of brokers and clients around one NameServer, every answer checked: `python -m benchmarks.simulated_estate`."""
