"""What holds for every test.

Owns: the state of the test process itself.
Must not know: what is tested.
"""

import signal


def pytest_configure() -> None:
    """Take SIGINT again. A shell starts background jobs with SIGINT ignored, and programs under test would inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
