"""Cosmodrome's broker beside Apache's: what a message costs, stored and handed out; memory; start."""
