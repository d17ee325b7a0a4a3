from __future__ import annotations

import itertools

import pytest

from broker_sim.quotas.client_quota_manager import ANONYMOUS, BandwidthQuotaManager
from broker_sim.quotas.client_quotas_image import (
    NO_CLIENT_QUOTAS,
    ClientQuotaEntity,
    ClientQuotasImage,
    QuotaChange,
)
from broker_sim.quotas.rate import UNBOUNDED

KEY = "producer_byte_rate"
NARROWEST_FIRST: list[dict[str, str | None]] = [
    {"user": ANONYMOUS, "client-id": "c"},
    {"user": ANONYMOUS, "client-id": None},
    {"user": ANONYMOUS},
    {"user": None, "client-id": "c"},
    {"user": None, "client-id": None},
    {"user": None},
    {"client-id": "c"},
    {"client-id": None},
]


def image(*quotas: tuple[dict[str, str | None], float], key: str = KEY) -> ClientQuotasImage:
    changes = [QuotaChange(entity=ClientQuotaEntity.of(names), key=key, value=value) for names, value in quotas]
    return NO_CLIENT_QUOTAS.with_changes(changes)


def manager(*quotas: tuple[dict[str, str | None], float], kinds_stay: bool = True) -> BandwidthQuotaManager:
    made = BandwidthQuotaManager(KEY, samples=11, window_s=1, kinds_stay=kinds_stay)
    made.apply(image(*quotas))
    return made


@pytest.mark.parametrize(
    ("narrow", "wide"),
    list(itertools.combinations(range(len(NARROWEST_FIRST)), 2)),
)
def test_the_narrowest_entity_wins(narrow: int, wide: int) -> None:
    both = manager((NARROWEST_FIRST[wide], 2.0), (NARROWEST_FIRST[narrow], 1.0))
    assert both.limit(ANONYMOUS, "c") == 1.0


def test_no_client_is_limited_by_the_quota_of_another() -> None:
    each = manager(({"client-id": "other"}, 1.0), ({"user": "other"}, 1.0), ({"user": "other", "client-id": "c"}, 1.0))
    assert each.limit(ANONYMOUS, "c") == UNBOUNDED


@pytest.mark.parametrize("client_id", [None, ""])
def test_a_client_without_an_id_has_the_quota_of_its_user_alone(client_id: str | None) -> None:
    assert manager(({"client-id": None}, 1.0)).limit(ANONYMOUS, client_id) == UNBOUNDED
    assert manager(({"user": ANONYMOUS}, 1.0)).limit(ANONYMOUS, client_id) == 1.0


def test_clients_of_one_user_share_the_quota_of_the_user() -> None:
    each = manager(({"user": ANONYMOUS}, 10.0))
    assert each.record_and_get_throttle_ms(ANONYMOUS, "a", 100, 0) == 0
    assert each.record_and_get_throttle_ms(ANONYMOUS, "b", 100, 0) == 10_000


def test_a_default_quota_is_each_client_s_own() -> None:
    each = manager(({"client-id": None}, 10.0))
    assert each.record_and_get_throttle_ms(ANONYMOUS, "a", 200, 0) == 10_000
    assert each.record_and_get_throttle_ms(ANONYMOUS, "b", 100, 0) == 0
    assert dict(each.rates(0)) == {("", "a"): 20.0, ("", "b"): 10.0}


def test_a_raised_quota_holds_for_what_was_counted_before() -> None:
    each = manager(({"client-id": "c"}, 10.0))
    assert each.record_and_get_throttle_ms(ANONYMOUS, "c", 200, 0) > 0
    each.apply(image(({"client-id": "c"}, 100.0)))
    assert each.record_and_get_throttle_ms(ANONYMOUS, "c", 700, 0) == 0
    assert each.record_and_get_throttle_ms(ANONYMOUS, "c", 200, 0) == 1000


def test_what_is_not_sent_is_not_counted() -> None:
    each = manager(({"client-id": "c"}, 10.0))
    each.record_and_get_throttle_ms(ANONYMOUS, "c", 500, 0)
    each.unrecord(ANONYMOUS, "c", 500, 0)
    assert each.record_and_get_throttle_ms(ANONYMOUS, "c", 100, 0) == 0
    assert each.max_value_in_window(ANONYMOUS, "c") == 100.0


def test_without_quotas_nothing_is_counted() -> None:
    each = manager()
    assert not each.enabled
    assert each.record_and_get_throttle_ms(ANONYMOUS, "c", 1e9, 0) == 0
    assert each.max_value_in_window(ANONYMOUS, "c") == UNBOUNDED
    assert dict(each.rates(0)) == {}


def test_a_bounded_delay_is_at_most_a_window() -> None:
    each = BandwidthQuotaManager("request_percentage", samples=11, window_s=2, kinds_stay=True, bounded=True)
    each.apply(image(({"client-id": "c"}, 1e-9), key="request_percentage"))
    assert each.record_and_get_throttle_ms(ANONYMOUS, "c", 50, 0) == 2000


@pytest.mark.parametrize(("kinds_stay", "throttle_ms"), [(True, 20_000), (False, 10_000)])
def test_a_quota_that_returns_finds_what_was_counted(*, kinds_stay: bool, throttle_ms: int) -> None:
    each = manager(({"client-id": "c"}, 10.0), kinds_stay=kinds_stay)
    each.record_and_get_throttle_ms(ANONYMOUS, "c", 200, 0)
    each.apply(image())
    assert each.enabled is kinds_stay
    assert each.record_and_get_throttle_ms(ANONYMOUS, "c", 100, 0) == 0
    each.apply(image(({"client-id": "c"}, 10.0)))
    assert each.record_and_get_throttle_ms(ANONYMOUS, "c", 0, 0) == throttle_ms


def test_the_tags_of_a_client_are_those_of_the_kinds_that_have_quotas() -> None:
    each = manager(({"user": "other"}, 10.0))
    each.record_and_get_throttle_ms(ANONYMOUS, "c", 1, 0)
    each.apply(image(({"user": "other"}, 10.0), ({"client-id": "other"}, 10.0)))
    each.record_and_get_throttle_ms(ANONYMOUS, "c", 2, 0)
    both = manager(({"user": "other", "client-id": "other"}, 10.0))
    both.record_and_get_throttle_ms(ANONYMOUS, "c", 3, 0)
    assert dict(each.rates(0)) == {(ANONYMOUS, ""): 0.1, ("", "c"): 0.2}
    assert dict(both.rates(0)) == {(ANONYMOUS, "c"): 0.3}
