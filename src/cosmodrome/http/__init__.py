"""A second listener of a server: probes, metrics, and whatever else it tells over HTTP."""
