"""Programs of the repository itself."""
