"""How long hypothesis looks: `HYPOTHESIS_PROFILE=thorough` for a night, the default for every run."""

import os

from hypothesis import HealthCheck, settings

_PATIENT = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile("default", max_examples=40, deadline=None, suppress_health_check=_PATIENT)
settings.register_profile("thorough", max_examples=3000, deadline=None, suppress_health_check=_PATIENT)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
