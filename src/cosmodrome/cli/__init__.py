"""The command line: `cosmodrome`, and `mqnamesrv` with the flags of Java's script of that name."""

from cosmodrome.cli.commands import main, mqnamesrv

__all__ = ["main", "mqnamesrv"]
