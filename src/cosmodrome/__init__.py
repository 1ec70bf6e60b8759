"""Apache RocketMQ in Python. This release holds the NameServer."""

__version__ = "0.1.0"
