"""Measurements of Cosmodrome beside Apache RocketMQ and beside the least that a server can cost."""
