"""What is counted and measured of a running NameServer, in the names of Prometheus."""
