"""The second listener: probes, metrics, and what the server knows as JSON."""
