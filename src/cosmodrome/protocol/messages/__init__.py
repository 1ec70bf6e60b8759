"""Messages: what is in them, their ids, and the forms in which they travel and are stored."""
