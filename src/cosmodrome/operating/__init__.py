"""Servers as processes, seen by who runs them: their end, their reload, what is wrong with machine and server."""
