"""Our NameServer and Apache's under the same hostile script, in one run: `python -m benchmarks.hostile`."""
