"""The command line: `cosmodrome`, and `mqnamesrv`, `mqbroker`, `mqshutdown` and `mqadmin` with the flags of Java's scripts of these names."""

from cosmodrome.cli.commands import main, mqadmin, mqbroker, mqnamesrv, mqshutdown

__all__ = ["main", "mqadmin", "mqbroker", "mqnamesrv", "mqshutdown"]
