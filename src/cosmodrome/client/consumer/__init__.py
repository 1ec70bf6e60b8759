"""Consumers: members of a group that share the queues of their topics."""
