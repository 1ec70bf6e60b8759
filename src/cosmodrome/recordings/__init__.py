"""Frames on file: recorded, read by people, played again."""
