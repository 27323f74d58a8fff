"""What holds for every test: how hypothesis looks for examples."""

import os

from hypothesis import HealthCheck, settings

# A machine that is busy with something else must fail nobody, so there are no limits of time. Where a change is only
# to be let in or not, the same examples are tried each time; everywhere else new ones, which is how faults are found.
settings.register_profile(
    "fourhands",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=os.environ.get("CI") == "true",
)
settings.load_profile("fourhands")
