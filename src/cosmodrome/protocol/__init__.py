"""The remoting protocol: bytes to meaning and back. Nothing here does I/O or reads a clock."""
