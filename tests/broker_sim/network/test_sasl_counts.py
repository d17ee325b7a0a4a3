"""The names of the counted authentications are those of Kafka's metrics."""

from __future__ import annotations

from broker_sim.network.sasl_counts import SaslCounts


def test_each_count_has_the_name_of_its_metric() -> None:
    counts = SaslCounts(
        successful_authentications=4, successful_reauthentications=3, failed_authentications=2, expired_sessions=9
    )
    assert counts.by_name() == {
        "successful-authentication": 4,
        "successful-reauthentication": 3,
        "failed-authentication": 2,
        "failed-reauthentication": 0,
    }
