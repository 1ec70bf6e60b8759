"""`python -m cosmodrome` is the command line."""

from cosmodrome.cli import main

main()
