"""Request and response bodies, one module per family."""
