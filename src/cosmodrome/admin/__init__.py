"""The administration commands: what each asks of which servers, and what it reports."""
