"""The routing tables. Pure state: no clock, no sockets, no tasks."""
