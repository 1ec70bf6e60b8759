"""The pages of the reference that are generated from the code: a module for each, with `page() -> str`."""
