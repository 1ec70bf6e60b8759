"""Replication: a master's log as slaves follow it."""
