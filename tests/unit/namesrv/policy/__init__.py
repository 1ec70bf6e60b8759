"""Who may do what, part by part."""
