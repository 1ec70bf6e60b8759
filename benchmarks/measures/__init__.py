"""The measures. Each module has `measure(run)`."""
