"""The command line: `cosmodrome`, and `mqnamesrv` and `mqadmin` with the flags of Java's scripts of these names."""

from cosmodrome.cli.commands import main, mqadmin, mqnamesrv

__all__ = ["main", "mqadmin", "mqnamesrv"]
