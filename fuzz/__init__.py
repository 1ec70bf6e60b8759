"""Fuzz targets: what must hold whatever bytes come, and the program that looks for bytes with which it does not."""
