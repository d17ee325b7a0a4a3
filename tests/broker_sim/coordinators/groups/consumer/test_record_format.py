"""The format of records by release."""

from __future__ import annotations

from broker_sim.config.release_behaviour import behaviour_of
from broker_sim.coordinators.groups.consumer import consumer_records, preview_records
from broker_sim.coordinators.groups.consumer.record_format import record_format


def test_the_first_preview_has_a_format_of_its_own():
    assert record_format(behaviour_of("3.7.2")) is preview_records
    assert record_format(behaviour_of("3.8.1")) is consumer_records
