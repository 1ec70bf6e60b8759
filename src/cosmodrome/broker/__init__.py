"""The broker: keeps messages in a store and hands them to consumers."""
