"""What can be said about configuration, and done with it, without a server: `cosmodrome config` and `cosmodrome lint`."""
