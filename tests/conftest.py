"""What holds for every test.

Owns: the state of the test process itself; how long hypothesis looks: `HYPOTHESIS_PROFILE=thorough` for a night.
Must not know: what is tested.
"""

import os
import signal
from typing import Final

from hypothesis import HealthCheck, settings

_PATIENT: Final = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile("default", max_examples=40, deadline=None, suppress_health_check=_PATIENT)
settings.register_profile("thorough", max_examples=3000, deadline=None, suppress_health_check=_PATIENT)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_configure() -> None:
    """Take SIGINT again. A shell starts background jobs with SIGINT ignored, and programs under test would inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
