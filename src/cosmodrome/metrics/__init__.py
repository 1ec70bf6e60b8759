"""What is counted and measured of a running server, in the names of Prometheus."""
