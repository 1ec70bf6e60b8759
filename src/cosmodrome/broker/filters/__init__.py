"""SQL92 filters: an expression as text, made into a question that is asked of each message."""
