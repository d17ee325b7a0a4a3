"""Hypothesis without a clock: how long an example takes depends on what else the machine does.

A check of a commit (`CI` is set) draws the same examples each time, so that it answers for the commit and not for the
day; everywhere else each run draws new ones.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile("developer", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("developer"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "developer")
