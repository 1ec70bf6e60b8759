"""asyncio around protocol/: moves commands, does not know what they mean."""
