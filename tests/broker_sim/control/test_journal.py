from __future__ import annotations

import pytest

from broker_sim.control.events import BatchAppended, BrokerKilled, IsrChanged, RequestReceived
from broker_sim.control.journal import EVENT_KINDS, ROW_COLUMNS, Detail, Journal
from sim_runtime.digest import EventDigest


def request(time_us: int, api: str = "Produce") -> RequestReceived:
    return RequestReceived(
        time_us=time_us,
        broker_id=1,
        api=api,
        api_version=9,
        request_id=time_us,
        connection_id="c",
        client_id=None,
    )


def isr_changed(time_us: int) -> IsrChanged:
    return IsrChanged(
        time_us=time_us,
        broker_id=1,
        topic="t",
        partition=0,
        isr=(1, 2),
        previous_isr=(1, 2, 3),
        leader_epoch=0,
        partition_epoch=1,
    )


@pytest.fixture
def journal() -> Journal:
    return Journal(lambda: 0, digest=EventDigest())


def test_events_come_back_in_order_of_their_arrival(journal: Journal) -> None:
    given = [request(1), BrokerKilled(time_us=2, broker_id=1), request(3), isr_changed(3)]
    for event in given:
        journal.append(event)
    assert journal.events == given
    assert journal.events_of(BrokerKilled, IsrChanged) == [given[1], given[3]]


def test_traffic_is_not_kept_below_full_detail() -> None:
    journal = Journal(lambda: 0, detail=Detail.CLUSTER)
    journal.append(request(1))
    journal.append(BrokerKilled(time_us=2, broker_id=1))
    assert not journal.full
    assert [event.kind for event in journal.events] == ["BrokerKilled"]


def test_counts_by_kind_and_api_include_what_the_limit_dropped() -> None:
    journal = Journal(lambda: 0, limit_events=2)
    for time_us in range(5):
        journal.append(request(time_us))
    journal.append(request(5, api="Fetch"))
    assert (journal.count(api="Produce"), journal.count(api="Fetch"), journal.count(api="Metadata")) == (
        5,
        1,
        0,
    )
    assert journal.count(kind="RequestReceived") == journal.count(kind=RequestReceived) == journal.count() == 6
    assert journal.dropped == 4
    assert [event.time_us for event in journal.events] == [4, 5]


def test_a_flood_of_traffic_never_drops_cluster_events() -> None:
    journal = Journal(lambda: 0, limit_events=2)
    journal.append(BrokerKilled(time_us=0, broker_id=1))
    for time_us in range(1, 6):
        journal.append(request(time_us))
    assert [event.kind for event in journal.events] == ["BrokerKilled", "RequestReceived", "RequestReceived"]


def test_subscribers_are_called_until_they_leave(journal: Journal) -> None:
    received: list[int] = []
    leave = journal.subscribe(lambda event: received.append(event.time_us))
    journal.append(request(1))
    leave()
    journal.append(request(2))
    assert received == [1]


def test_rows_are_flat_and_have_every_column(journal: Journal) -> None:
    journal.append(isr_changed(7))
    (row,) = journal.to_rows()
    assert tuple(row) == ROW_COLUMNS
    assert (row["sequence"], row["kind"], row["isr"], row["previous_isr"]) == (
        1,
        "IsrChanged",
        "1,2",
        "1,2,3",
    )
    assert row["producer_id"] is None


def test_the_digest_depends_on_every_field_and_on_dropped_events() -> None:
    def digest(*events: RequestReceived | IsrChanged, limit: int = 10) -> str:
        journal = Journal(lambda: 0, digest=EventDigest(), limit_events=limit)
        for event in events:
            journal.append(event)
        assert journal.digest is not None
        return journal.digest.hexdigest()

    assert digest(request(1), isr_changed(2)) == digest(request(1), isr_changed(2), limit=1)
    assert digest(request(1)) != digest(request(2))
    assert digest(request(1)) != digest(request(1), request(1), limit=1)


def test_every_kind_is_traffic_or_not() -> None:
    assert EVENT_KINDS["BatchAppended"] is BatchAppended
    assert EVENT_KINDS["BatchAppended"].detail is Detail.FULL
    assert EVENT_KINDS["LogTruncated"].detail is Detail.CLUSTER
    assert {"Event", "TrafficEvent"}.isdisjoint(EVENT_KINDS)


def test_the_newest_frames_are_kept(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("broker_sim.control.journal.FRAME_BYTES_MAX", 5)
    events = [request(number) for number in range(3)]
    for event, frame in zip(events, (b"abc", b"de", b"f"), strict=True):
        journal.keep_frame(event, frame)
        journal.append(event)
    assert [event.frame for event in events] == [b"", b"de", b"f"]


def test_a_journal_without_traffic_keeps_no_frame() -> None:
    journal = Journal(lambda: 0, detail=Detail.CLUSTER)
    journal.keep_frame(event := request(1), b"abc")
    assert event.frame == b""


def test_a_frame_is_in_no_row_and_no_digest() -> None:
    digests = []
    for frame in (b"", b"abc"):
        digest = EventDigest()
        journal = Journal(lambda: 0, digest=digest)
        event = request(1)
        journal.keep_frame(event, frame)
        journal.append(event)
        assert "frame" not in journal.to_rows()[0]
        assert event == request(1)
        digests.append(digest.hexdigest())
    assert digests[0] == digests[1]


def test_a_subscriber_of_some_kinds_receives_no_others(journal: Journal) -> None:
    some: list[object] = []
    every: list[object] = []
    journal.subscribe(every.append)
    given = [request(1), isr_changed(2), BrokerKilled(time_us=3, broker_id=1), request(4)]
    journal.append(given[0])
    stop = journal.subscribe(some.append, BrokerKilled, RequestReceived)
    for event in given[1:]:
        journal.append(event)
    stop()
    journal.append(request(5))
    assert some == given[2:]
    assert every == [*given, request(5)]


def test_a_subscriber_gets_one_more_kind_in_its_place(journal: Journal) -> None:
    received: list[tuple[str, object]] = []

    def first(event: object) -> None:
        received.append(("first", event))

    stop = journal.subscribe(first, BrokerKilled)
    journal.subscribe(lambda event: received.append(("second", event)))
    journal.append(request(1))
    journal.add_kind(first, RequestReceived)
    journal.append(request(2))
    stop()
    journal.append(request(3))
    assert received == [
        ("second", request(1)),
        ("first", request(2)),
        ("second", request(2)),
        ("second", request(3)),
    ]
