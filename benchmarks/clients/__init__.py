"""This client beside Apache's Java client and the C++ wheel, on one Apache broker."""
