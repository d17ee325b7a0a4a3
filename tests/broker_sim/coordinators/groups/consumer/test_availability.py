"""The releases and configurations that serve consumer groups."""

from __future__ import annotations

import pytest

from protocol_specs.error_codes import ErrorCode


@pytest.mark.parametrize(
    ("release", "config", "error"),
    [
        ("4.3.1", {}, 0),
        ("4.3.1", {"group_coordinator_rebalance_protocols": "classic"}, ErrorCode.UNSUPPORTED_VERSION),
        ("3.7.2", {}, ErrorCode.UNSUPPORTED_VERSION),
        ("3.7.2", {"group_coordinator_rebalance_protocols": "classic,consumer"}, 0),
    ],
)
def test_configurations_choose_the_protocol(consumers, release, config, error):
    assert consumers(release=release, **config).join("m1", "a", version=0).error_code == error
