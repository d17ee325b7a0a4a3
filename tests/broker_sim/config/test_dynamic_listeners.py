"""A running broker's listeners, when its configuration changes."""

from __future__ import annotations

import pytest

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.dynamic_listeners import check_listener_texts
from broker_sim.config.listeners import LISTENERS, PROTOCOL_MAP
from broker_sim.errors import ConfigError

FILE = {LISTENERS: "INSIDE://127.0.0.1:9092,OUTSIDE://127.0.0.1:9192", PROTOCOL_MAP: "INSIDE:PLAINTEXT,OUTSIDE:SSL"}


def test_a_file_may_leave_out_the_protocol_of_the_controllers_listener() -> None:
    check_listener_texts(BrokerConfig.parse(FILE).with_dynamic({}, {"background.threads": "8"}))


def test_a_dynamic_map_must_have_it() -> None:
    changed = BrokerConfig.parse(FILE).with_dynamic({}, {PROTOCOL_MAP: FILE[PROTOCOL_MAP]})
    with pytest.raises(ConfigError, match="No security protocol defined for listener CONTROLLER"):
        check_listener_texts(changed)
