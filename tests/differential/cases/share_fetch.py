"""ShareFetch and ShareAcknowledge, as raw probes see them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol_specs.uuids import ZERO_UUID
from tests.differential.acl_requests import AUTHORIZER
from tests.differential.case import case
from tests.differential.cases.delete_records import before
from tests.differential.cases.delete_topics import by_names
from tests.differential.cases.share_state import read, write
from tests.differential.config_requests import GROUP, SET, await_value, incremental
from tests.differential.coordinator_barriers import known_topic
from tests.differential.group_records import SHARE_STATE_TOPIC, write_records
from tests.differential.probe import attempts
from tests.differential.requests import batch, fill, metadata, timed
from tests.differential.share_requests import (
    ACCEPT,
    GAP,
    ONLY_NEW,
    REJECT,
    RELEASE,
    RENEW,
    SHARE,
    SHORT_LOCKS,
    ShareConsumer,
    acknowledge,
    await_session_end,
    fetch_shared,
    share_group_of,
)

if TYPE_CHECKING:
    from tests.differential.probe import Probe

UNKNOWN_ID = b"an unknown topic"
ACKNOWLEDGED = 2
HOUR_MS: Final = 3_600_000
SILENCE_SECONDS: Final = 0.2
LONGER_LOCKS: Final = (
    *SHARE,
    ("group.share.min.record.lock.duration.ms", "1000"),
    ("group.share.record.lock.duration.ms", "3000"),
)


def joined(
    probe: Probe, *members: str, batches: tuple[int, ...] = (5,), reset: str = "earliest"
) -> tuple[bytes, list[ShareConsumer]]:
    """Return the id of a topic of one partition with records, and members of a group that share it."""
    topic = known_topic(probe)
    fill(probe, topic, *(batch(*(b"%d" % number for number in range(count))) for count in batches))
    group = share_group_of(probe, reset=reset)
    consumers = [ShareConsumer(probe, group, name, [topic]) for name in members]
    for each in consumers:
        each.join()
        each.await_assignment(1)
    return probe.topic_id(topic), consumers


@case(settings=SHARE, releases=ONLY_NEW)
def records_are_acquired_and_acknowledged(probe: Probe) -> None:
    for version in (1, 2):
        topic = known_topic(probe, f"t{version}")
        fill(probe, topic, batch(b"a", b"b", b"c", b"d", b"e"))
        member = ShareConsumer(probe, share_group_of(probe, f"g{version}"), "m1", [topic])
        member.join()
        member.await_assignment(1)
        topic_id = probe.topic_id(topic)
        member.fetch({topic_id: {0: []}}, version=version, note="first")
        member.fetch({}, version=version, note="nothing is left")
        member.fetch({topic_id: {0: [(0, 1, [ACCEPT])]}}, version=version, note="accepts two")
        member.acknowledge({topic_id: {0: [(2, 2, [RELEASE])]}}, version=version, note="releases one")
        member.fetch({}, version=version, note="the released one")
        kinds = {0: [(2, 4, [ACCEPT, REJECT, RELEASE])]}
        member.acknowledge({topic_id: kinds}, version=version, note="one of each")
        member.fetch({}, version=version, note="the last one")
        member.acknowledge({topic_id: {0: [(4, 4, [ACCEPT])]}}, version=version, note="accepts the last")
        fill(probe, topic, batch(b"f"))
        member.fetch({}, version=version, note="a new one")
        member.session = -1
        member.acknowledge({topic_id: {0: [(5, 5, [ACCEPT])]}}, version=version, note="and closes")
        member.leave()
        write_records(probe, SHARE_STATE_TOPIC, member.group)


@case(settings=SHARE, releases=ONLY_NEW)
def sessions_and_their_epochs(probe: Probe) -> None:
    topic_id, (member,) = joined(probe, "m1")
    group = member.group
    for epoch in (1, 5, -1, -2):
        probe.exchange(fetch_shared(group, "m1", epoch, {topic_id: {0: []}}), 2, note=f"no session, epoch {epoch}")
        probe.exchange(acknowledge(group, "m1", epoch, {topic_id: {0: []}}), 2, note=f"no session, epoch {epoch}")
    probe.exchange(acknowledge(group, "m1", 0, {topic_id: {0: []}}), 2, note="opened by an acknowledgement")
    first = fetch_shared(group, "m1", 0, {topic_id: {0: [(0, 0, [ACCEPT])]}})
    probe.exchange(first, 2, note="opened with an acknowledgement")
    member.fetch({topic_id: {0: []}}, max_records=1)
    for epoch in (0, 2, 3):
        request = acknowledge(group, "m1", epoch, {topic_id: {0: [(0, 0, [ACCEPT])]}})
        probe.exchange(request, 2, on=member.connection, note=f"epoch {epoch}, not 1")
    for epoch in (2, 3):
        request = fetch_shared(group, "m1", epoch, {topic_id: {0: []}})
        probe.exchange(request, 2, on=member.connection, note=f"epoch {epoch}, not 1")
    member.fetch({}, note="it goes on")
    member.fetch(forget={topic_id: [0]}, note="forgets its partition")
    member.fetch({}, note="without partitions")
    member.session = -1
    member.fetch({}, note="closes")
    member.session = 0
    member.fetch({topic_id: {0: []}}, note="opens again: what was acquired is released")


@case(settings=SHARE, releases=ONLY_NEW)
def requests_that_are_invalid(probe: Probe) -> None:
    topic_id, (member,) = joined(probe, "m1")
    group = member.group
    wanted = {topic_id: {0: []}}
    for name, member_id in (
        (None, "m1"),
        ("", "m1"),
        (group, None),
        (group, ""),
        (group, "x" * 37),
        (group, "not a uuid"),
    ):
        probe.exchange(fetch_shared(name, member_id, 0, wanted), 2, note=f"{name and name[-1:]} {member_id}")
        probe.exchange(acknowledge(name, member_id, 1, wanted), 2, note=f"{name and name[-1:]} {member_id}")
    for options in (
        {"max_records": 0},
        {"max_records": -1},
        {"batch_size": 0},
        {"max_bytes": 0},
        {"min_bytes": -1},
        {"max_wait_ms": -1},
        {"acquire_mode": 2},
        {"acquire_mode": -1},
        {"renew": True},
    ):
        for version in (1, 2):
            connection = probe.connect()
            request = fetch_shared(group, "m1", 0, wanted, **options)
            probe.exchange(request, version, on=connection, note=str(options))
            probe.exchange(fetch_shared(group, "m1", -1), version, on=connection, note="closes")
    for unknown in (UNKNOWN_ID, ZERO_UUID):
        connection = probe.connect()
        probe.exchange(fetch_shared(group, "m1", 0, {unknown: {0: []}}), 2, on=connection, note="an unknown topic")
        probe.exchange(fetch_shared(group, "m1", -1), 2, on=connection, note="closes")
    connection = probe.connect()
    probe.exchange(fetch_shared(group, "m1", 0, {topic_id: {7: []}}), 2, on=connection, note="an unknown partition")


@case(settings=SHARE, releases=ONLY_NEW)
def acknowledgements_that_are_wrong(probe: Probe) -> None:
    topic_id, (member, other) = joined(probe, "m1", "m2", batches=(6,))
    member.fetch({topic_id: {0: []}})
    other.fetch({topic_id: {0: []}}, note="nothing is left for the other", max_wait_ms=100)
    other.acknowledge({topic_id: {0: [(0, 0, [ACCEPT])]}}, note="another's record")
    for ranges in (
        [(0, 0, [5])],
        [(0, 0, [-1])],
        [(0, 0, [])],
        [(0, 1, [ACCEPT, ACCEPT, ACCEPT])],
        [(0, 2, [ACCEPT, ACCEPT])],
        [(1, 0, [ACCEPT])],
        [(-1, 0, [ACCEPT])],
        [(2, 3, [ACCEPT]), (0, 1, [ACCEPT])],
        [(0, 1, [ACCEPT]), (1, 2, [ACCEPT])],
        [(0, 0, [RENEW])],
        [(9, 9, [ACCEPT])],
        [(5, 9, [ACCEPT])],
    ):
        member.acknowledge({topic_id: {0: ranges}}, note=str(ranges))
        member.fetch({topic_id: {0: ranges}}, note=str(ranges), max_wait_ms=50)
    member.acknowledge({topic_id: {7: [(0, 0, [ACCEPT])]}}, note="an unknown partition")
    member.acknowledge({UNKNOWN_ID: {0: [(0, 0, [ACCEPT])]}}, note="an unknown topic")
    member.acknowledge({topic_id: {0: [(0, 0, [RENEW])]}}, renew=True, note="renews")
    member.fetch({topic_id: {0: [(1, 1, [RENEW])]}}, renew=True, note="renews, and wants records")
    request = {"max_records": 0, "max_bytes": 0, "min_bytes": 0, "max_wait_ms": 0, "batch_size": 0}
    member.fetch({topic_id: {0: [(1, 1, [RENEW])]}}, renew=True, note="renews alone", **request)
    member.acknowledge({topic_id: {0: [(0, 5, [ACCEPT])]}}, note="all")
    member.acknowledge({topic_id: {0: [(0, 5, [ACCEPT])]}}, note="again")
    member.acknowledge({topic_id: {0: [(0, 0, [GAP])]}}, note="a gap")


@case(settings=SHARE, releases=ONLY_NEW)
def ranges_around_a_start_without_records(probe: Probe) -> None:
    topic_id, (member,) = joined(probe, "m1", batches=(2,))
    member.fetch({topic_id: {0: []}})
    member.acknowledge({topic_id: {0: [(-1, 0, [ACCEPT])]}}, note="from before the start")
    member.acknowledge({topic_id: {0: [(0, 1, [ACCEPT])]}}, note="all")
    for ranges in ([(1, 2, [ACCEPT])], [(1, 1, [ACCEPT])], [(2, 2, [ACCEPT])], [(-5, 7, [ACCEPT])]):
        session = member.session
        member.acknowledge({topic_id: {0: ranges}}, note=str(ranges))
        member.session = session + 1  # The session advances even if the request fails.
        member.fetch({topic_id: {0: ranges}}, note=str(ranges), max_wait_ms=1)
        member.session = session + 2


@case(settings=SHARE, releases=ONLY_NEW)
def limits_of_records(probe: Probe) -> None:
    topic_id, (member,) = joined(probe, "m1", batches=(4, 4, 4, 4))
    member.fetch({topic_id: {0: []}}, max_records=1, note="one: its whole batch")
    member.fetch({}, max_records=5, note="five: two batches")
    member.fetch({}, max_records=2, batch_size=1, note="batches of one")
    member.acknowledge({topic_id: {0: [(0, 15, [RELEASE])]}}, note="all are released")
    member.fetch({}, max_records=3, acquire_mode=1, note="three, strictly")
    member.fetch({}, max_records=100, batch_size=2, acquire_mode=1, note="the others, in pairs")
    member.fetch({}, max_records=100, max_wait_ms=50, note="none are left")
    member.acknowledge({topic_id: {0: [(0, 15, [RELEASE])]}}, note="all are released again")
    member.fetch({}, max_bytes=1, note="one byte")
    member.acknowledge({topic_id: {0: [(0, 15, [RELEASE])]}}, note="all are released once more")
    for max_bytes in (-1, -(2**31)):
        member.fetch({}, max_bytes=max_bytes, note=f"{max_bytes} bytes")
    member.fetch({}, max_bytes=0, max_wait_ms=10, note="no bytes")


@case(settings=SHORT_LOCKS, releases=ONLY_NEW)
def locks_that_expire(probe: Probe) -> None:
    # One record is left in the end: two locks that expire in one millisecond have no order.
    topic_id, (member, other) = joined(probe, "m1", "m2", batches=(2,))
    member.fetch({topic_id: {0: []}}, note="first delivery")
    other.fetch({topic_id: {0: []}}, max_wait_ms=5_000, note="waits for the lock: second delivery")
    member.acknowledge({topic_id: {0: [(0, 0, [ACCEPT])]}}, note="too late")
    other.acknowledge({topic_id: {0: [(0, 0, [RELEASE])]}}, note="after its last delivery")
    other.fetch({}, max_wait_ms=2_500, note="nothing is delivered a third time")
    write_records(probe, SHARE_STATE_TOPIC, member.group)


@case(settings=SHORT_LOCKS, releases=ONLY_NEW)
def locks_that_expire_together(probe: Probe) -> None:
    """A fetch that waits gets the records of the first lock."""
    topic_id, (member, other) = joined(probe, "m1", "m2", batches=(5, 3, 5))
    member.fetch({topic_id: {0: []}}, batch_size=1, note="a lock for each batch")
    other.fetch({topic_id: {0: []}}, max_wait_ms=5_000, note="waits for the first lock")
    # Not before its time is over: the other locks expire one after another, while the request is on its way.
    other.fetch({}, max_wait_ms=500, min_bytes=10_000, note="has the others")


@case(settings=SHARE, releases=ONLY_NEW)
def connections_that_close(probe: Probe) -> None:
    topic_id, (member, other) = joined(probe, "m1", "m2", batches=(3,))
    member.fetch({topic_id: {0: []}})
    member.connection.close()
    other.fetch({topic_id: {0: []}}, max_wait_ms=5_000, note="what the other held is released")


@case(settings=SHARE, releases=ONLY_NEW)
def groups_that_start_at_the_end(probe: Probe) -> None:
    topic_id, (member,) = joined(probe, "m1", batches=(3,), reset="latest")
    member.fetch({topic_id: {0: []}}, max_wait_ms=300, note="nothing is new")
    fill(probe, f"{probe.name}-t", batch(b"new"))
    member.fetch({}, note="a new one")


@case(settings=SHARE, releases=ONLY_NEW)
def groups_that_start_a_while_ago(probe: Probe) -> None:
    topic = known_topic(probe)
    now_ms = int(time.time() * 1000)
    fill(probe, topic, timed(now_ms - 3 * HOUR_MS), timed(now_ms - HOUR_MS), timed(now_ms - 60_000))
    for number, reset in enumerate(
        ("by_duration:PT2H", " by_duration:P+1DT-0H1.5S ", "by_duration:PT0,5s", " earliest ")
    ):
        group = share_group_of(probe, f"g{number}", reset="latest")
        probe.exchange(incremental((GROUP, group, [("share.auto.offset.reset", SET, reset)])), 1, note=reset)
        await_value(probe, GROUP, group, "share.auto.offset.reset", reset.strip())
        resource = DescribeConfigsResource(
            resource_type=GROUP, resource_name=group, configuration_keys=["share.auto.offset.reset"]
        )
        probe.exchange(DescribeConfigsRequest(resources=[resource]), 4, note=reset)
        member = ShareConsumer(probe, group, "m1", [topic])
        member.join()
        member.await_assignment(1)
        member.fetch({probe.topic_id(topic): {0: []}}, max_wait_ms=300, note=reset)


@case(settings=SHARE, releases=ONLY_NEW)
def logs_that_begin_inside_a_batch(probe: Probe) -> None:
    topic_id, (member,) = joined(probe, "m1", batches=(5, 16))
    exact = {"max_records": 3, "acquire_mode": 1, "max_wait_ms": 300}
    member.fetch({topic_id: {0: []}}, max_records=5, note="the first batch")
    probe.exchange(before(member.topics[0], (0, 20)), 2, note="up to the last record of the second batch")
    member.fetch({}, **exact, note="the log has begun anew")
    member.fetch({}, **exact, note="from the batch in which the log begins")
    member.acknowledge({topic_id: {0: [(5, 7, [ACCEPT])]}}, note="accepts deleted records")
    member.acknowledge({topic_id: {0: [(0, 4, [ACCEPT])]}}, note="accepts the first batch")
    for _ in range(3):
        member.fetch({}, **exact, note="what is left")
    fill(probe, member.topics[0], batch(b"new"))
    member.fetch({}, **exact, note="a new one")


@case(settings=SHARE, releases=ONLY_NEW)
def states_with_a_gap(probe: Probe) -> None:
    topic_id, (member,) = joined(probe, "m1", batches=(1, 1, 1, 1))
    group = member.group
    accepted = write(group, topic_id, (1, 3, ACKNOWLEDGED, 1), state_epoch=9, start=0, complete=3)
    probe.exchange(accepted, 1, note="an earlier leader has finished all but the first")
    member.fetch({topic_id: {0: []}}, max_wait_ms=300, note="the first")
    member.acknowledge({topic_id: {0: [(0, 0, [ACCEPT])]}}, note="accepts it")
    probe.exchange(read(group, topic_id), 0)
    fill(probe, member.topics[0], batch(b"new"))
    member.fetch({}, max_wait_ms=300, note="a new one")
    member.acknowledge({topic_id: {0: [(4, 4, [RELEASE])]}}, note="releases it")
    probe.exchange(read(group, topic_id), 0, note="where it starts")
    member.fetch({}, max_wait_ms=300, note="the new one again")
    member.acknowledge({topic_id: {0: [(4, 4, [RELEASE])]}}, note="releases it again")
    probe.exchange(read(group, topic_id), 0, note="where it starts now")


@case(settings=SHARE, releases=ONLY_NEW)
def states_with_a_gap_that_is_deleted(probe: Probe) -> None:
    topic_id, (member,) = joined(probe, "m1", batches=(5, 4, 4))
    group = member.group
    accepted = write(group, topic_id, (5, 8, ACKNOWLEDGED, 1), state_epoch=9, start=0, complete=4)
    probe.exchange(accepted, 1, note="an earlier leader has finished the second batch")
    probe.exchange(before(member.topics[0], (0, 5)), 2, note="the first batch")
    for _ in range(3):
        member.fetch({topic_id: {0: []}}, max_wait_ms=300, note="the third batch")
    fill(probe, member.topics[0], batch(b"new"))
    for _ in range(2):
        member.fetch({}, max_wait_ms=300, note="a new one")
    probe.exchange(read(group, topic_id), 0, note="the stored state")
    probe.exchange(before(member.topics[0], (0, 9)), 2, note="the second batch")
    for _ in range(2):
        member.fetch({}, max_wait_ms=300, note="all that is left")


@case(settings=SHARE, releases=ONLY_NEW)
def partitions_that_take_turns(probe: Probe) -> None:
    topic = known_topic(probe, partitions=2)
    topic_id = probe.topic_id(topic)
    member = ShareConsumer(probe, share_group_of(probe), "m1", [topic])
    member.join()
    member.await_assignment(2)
    for index in (0, 1):
        probe.quiet(fetch_shared(member.group, "first", 0, {topic_id: {index: []}}, max_wait_ms=400), 1)
        probe.quiet(fetch_shared(member.group, "first", -1), 1)
    fill(probe, topic, batch(b"a"), batch(b"b"), batch(b"c"), partition=1)
    member.fetch({topic_id: {0: [], 1: []}}, max_records=1, note="one partition is empty")
    fill(probe, topic, batch(b"d"), batch(b"e"), batch(b"f"), partition=0)
    for _ in range(6):
        member.fetch({}, max_records=1, max_wait_ms=300, note="both have records")


@case(settings=SHARE, releases=ONLY_NEW)
def bytes_of_partitions_that_are_read_apart(probe: Probe) -> None:
    """A partition has its part of the bytes also where the place of the other's fetch offset is known."""
    topic = known_topic(probe, partitions=2)
    topic_id = probe.topic_id(topic)
    member = ShareConsumer(probe, share_group_of(probe), "m1", [topic])
    member.join()
    member.await_assignment(2)
    both = {topic_id: {0: [], 1: []}}
    member.fetch(both, max_wait_ms=600, note="both are empty")
    fill(probe, topic, batch(b"a"), batch(b"b", b"c", b"d"), batch(b"e", b"f"), batch(b"g"), batch(b"h"))
    member.fetch({}, max_records=1, batch_size=1, note="the first record")
    for max_bytes in (100, 1, 2):
        member.fetch({}, max_bytes=max_bytes, max_wait_ms=200, note=f"{max_bytes} bytes")


@case(settings=SHARE, releases=ONLY_NEW)
def released_records_wait_for_the_next_fetch(probe: Probe) -> None:
    topic_id, (member, other) = joined(probe, "m1", "m2", batches=(1, 1, 1))
    for note in ("releases", "accepts", "closes its session"):
        member.fetch({topic_id: {0: []}}, note="all records")
        waiting = fetch_shared(other.group, "m2", other.session, {topic_id: {0: []}}, max_wait_ms=3_000)
        parked = probe.start(waiting, 2, on=other.connection, note=f"the first {note}")
        probe.finish(parked, seconds=SILENCE_SECONDS)
        if note == "releases":
            member.acknowledge({topic_id: {0: [(0, 0, [RELEASE])]}})
        elif note == "accepts":
            member.acknowledge({topic_id: {0: [(0, 0, [ACCEPT])]}})
        else:
            member.session = -1
            member.acknowledge({})
        probe.finish(parked, seconds=SILENCE_SECONDS)
        probe.finish(parked)
        other.session = -1
        other.fetch({}, note="releases them")
        member.session = other.session = 0


@case(settings=SHARE, releases=ONLY_NEW)
def released_records_that_another_fetch_leaves(probe: Probe) -> None:
    released_records(probe, "a fetch", wait_ms=0)


@case(settings=SHARE, releases=ONLY_NEW)
def released_records_that_a_deadline_leaves(probe: Probe) -> None:
    released_records(probe, "a deadline", wait_ms=2_000)


def released_records(probe: Probe, note: str, *, wait_ms: int) -> None:
    """A waiting fetch gets what another one leaves of released records."""
    topic_id, (member, other, third) = joined(probe, "m1", "m2", "m3", batches=(1, 1, 1))
    wanted = {topic_id: {0: []}}
    member.fetch(wanted, note="all records")
    waiting = fetch_shared(other.group, "m2", other.session, wanted, max_wait_ms=20_000)
    parked = probe.start(waiting, 2, on=other.connection, note=f"what {note} leaves")
    one = {"max_records": 1, "acquire_mode": 1, "max_wait_ms": wait_ms}
    limited: Any = fetch_shared(third.group, "m3", third.session, wanted, **one)
    if wait_ms:
        limited = probe.start(limited, 2, on=third.connection, note="one record at its deadline")
    probe.finish(parked, seconds=SILENCE_SECONDS)
    member.acknowledge({topic_id: {0: [(0, 2, [RELEASE])]}})
    probe.finish(parked, seconds=SILENCE_SECONDS)
    if wait_ms:
        probe.finish(limited)
        probe.finish(parked, seconds=SILENCE_SECONDS)
        member.acknowledge({}, note="the next request")
    else:
        probe.exchange(limited, 2, on=third.connection, note="one record")
    probe.finish(parked)


@case(settings=SHARE, releases=ONLY_NEW)
def states_that_start_earlier_again(probe: Probe) -> None:
    """A leader repeats a write that has failed after it has made later ones, with the start offset that it had."""
    topic_id, (member,) = joined(probe, "m1", batches=(1, 1, 1, 1))
    group = member.group
    for start, batches in ((1, (2, 2, ACKNOWLEDGED, 1)), (2, (1, 1, ACKNOWLEDGED, 1)), (0, (0, 0, ACKNOWLEDGED, 1))):
        probe.exchange(write(group, topic_id, batches, state_epoch=9, start=start, complete=1), 1, note=f"from {start}")
        probe.exchange(read(group, topic_id), 0, note=f"from {start}")
    member.fetch({topic_id: {0: []}}, max_wait_ms=300, note="records that were finished before the earlier start")


@case(settings=LONGER_LOCKS, releases=ONLY_NEW)
def locks_of_a_group_that_is_forgotten(probe: Probe) -> None:
    topic_id, (member, other) = joined(probe, "m1", "m2", batches=(1, 1, 1))
    member.fetch({topic_id: {0: []}}, max_records=1, note="one record")
    member.fetch({}, forget={topic_id: [0]}, max_wait_ms=100, note="forgets the partition")
    member.connection.close()
    await_session_end(probe, member.group, member.id)
    other.fetch({topic_id: {0: []}}, max_wait_ms=300, note="the last session has ended: all are delivered")
    other.acknowledge({topic_id: {0: [(0, 2, [ACCEPT])]}}, note="accepts all")
    fill(probe, other.topics[0], batch(b"new"))
    other.fetch({}, max_wait_ms=300, note="a new one")
    other.acknowledge({topic_id: {0: [(3, 3, [ACCEPT])]}}, note="accepts it")
    probe.exchange(read(other.group, topic_id), 0, note="before the lock of the first member expires")
    other.fetch({}, max_wait_ms=3_500, note="waits for the lock")
    probe.exchange(read(other.group, topic_id), 0, note="the state of the forgotten share partition is stored")
    other.connection.close()
    await_session_end(probe, other.group, other.id)
    other.connection, other.session = probe.connect(), 0
    other.fetch({topic_id: {0: []}}, max_wait_ms=300, note="accepted records are delivered again")


@case(settings=SHARE, releases=ONLY_NEW)
def fetches_that_do_not_wait(probe: Probe) -> None:
    """A fetch without a wait has nothing that another member acquired; one of an unknown topic acquires the others."""
    topic_id, (member,) = joined(probe, "m1")
    member.fetch({topic_id: {0: []}}, max_wait_ms=5_000)
    member.acknowledge({topic_id: {0: [(0, 4, [RELEASE])]}})
    other = ShareConsumer(probe, member.group, "m2", [])
    other.fetch({UNKNOWN_ID: {0: []}, topic_id: {0: []}}, note="an unknown topic beside a known one")
    member.fetch({}, max_wait_ms=0, note="its records are acquired")
    for wait_ms in (0, 60_000):
        probe.exchange(fetch_shared("", "m", 0, {topic_id: {0: []}}, max_wait_ms=wait_ms), 2, note="an empty group id")


@case(settings=(*SHARE, *AUTHORIZER), releases=ONLY_NEW)
def topics_deleted_before_an_authorizer(probe: Probe) -> None:
    for number, acknowledged in enumerate((True, False)):
        topic = known_topic(probe, f"t{number}")
        fill(probe, topic, batch(b"a", b"b", b"c"))
        member = ShareConsumer(probe, share_group_of(probe, f"g{number}"), "m1", [topic])
        member.join()
        member.await_assignment(1)
        topic_id = probe.topic_id(topic)
        member.fetch({topic_id: {0: []}}, note="first")
        probe.quiet(by_names(topic), 6)
        for _ in attempts(f"the broker to know that {topic} is deleted"):
            if probe.quiet(metadata(ids=[topic_id]), 12).topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID:
                break
        probe.normaliser.know_topic(f"{topic} deleted", topic_id)
        named = {topic_id: {0: [(0, 2, [ACCEPT])] if acknowledged else []}}
        member.fetch(named, forget={topic_id: [0]}, max_wait_ms=100, note=f"{acknowledged=}")
        member.session = 2
        member.fetch({}, max_wait_ms=100, note="the next epoch")
        member.session = 3
        member.fetch({UNKNOWN_ID: {0: []}}, max_wait_ms=100, note="another topic")
        member.session = 4
        member.acknowledge({topic_id: {0: [(0, 2, [ACCEPT])]}}, note="acknowledges alone")
        for closes in (member.fetch, member.acknowledge):
            member.session = -1
            closes({topic_id: {0: [(0, 2, [ACCEPT])]}}, note="closes")
            member.session = 5
            member.fetch({}, max_wait_ms=100, note="the epoch after the one that closes")
