"""Hypothesis without a clock: how long an example takes depends on what else the machine does."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("protocol_specs", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("protocol_specs")
