"""Requests to the transaction coordinator in each state of a transaction, as raw probes see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from tests.differential.case import case
from tests.differential.cases.find_coordinator import TRANSACTION
from tests.differential.cases.init_producer_id import await_transactions
from tests.differential.group_requests import group_of
from tests.differential.probe import attempts
from tests.differential.requests import produce
from tests.differential.transaction_requests import (
    STATE_TOPIC,
    Transactions,
    batched,
    describe,
    list_own,
    markers,
    of_every_state,
)

if TYPE_CHECKING:
    from tests.differential.probe import Probe

V2 = ("4.3.1",)

OWN_CLUSTER = (("transaction.max.timeout.ms", "800000"),)
"""A cluster of its own: other cases leave records in internal topics that no coordinator can replay."""


@case()
def producers_initialized_in_each_state(probe: Probe) -> None:
    topic = probe.topic()
    transactions = Transactions(probe)
    transactions.begin()
    for version in range(5 if probe.release == "3.7.2" else 6):
        probe.exchange(transactions.init(), version, note="empty")
        transactions.begin()
        transactions.open((topic, 0))
        probe.exchange(transactions.init(), version, note="ongoing")
        transactions.await_state("CompleteAbort")
        probe.exchange(transactions.init(30_000 + version), version, note="aborted")
        transactions.describe()
        transactions.begin()
        transactions.open((topic, 0))
        transactions.ended(commit=True)
        probe.exchange(transactions.init(), version, note="committed")
        transactions.describe()


@case()
def given_epochs_in_each_state(probe: Probe) -> None:
    topic = probe.topic()
    for version in (3, 4) if probe.release == "3.7.2" else (3, 4, 5):
        for state in ("empty", "open", "committed", "aborted", "fenced"):
            for step in (0, -1, 1, -5):
                transactions = Transactions(probe, f"{version}-{state}-{step}")
                transactions.begin()
                transactions.begin()
                if state != "empty":
                    transactions.open((topic, 0))
                if state in ("committed", "aborted"):
                    transactions.ended(commit=state == "committed")
                if state == "fenced":
                    probe.exchange(transactions.init(), 4)
                    transactions.await_state("CompleteAbort")
                given = transactions.producer_id, transactions.epoch + step
                for _ in range(2):
                    probe.exchange(transactions.init(given=given), version, note=f"{state} {step}")
                    if state == "open":
                        transactions.await_state("Ongoing", "CompleteAbort", "Empty")
                transactions.describe()


@case()
def time_outs_that_change(probe: Probe) -> None:
    topic = probe.topic()
    transactions = Transactions(probe)
    transactions.begin()
    for timeout_ms in (1_000, 900_000, 900_001, 0, -1, 1):
        probe.exchange(transactions.init(timeout_ms), 4, note=str(timeout_ms))
        transactions.describe()
    transactions.begin(70_000)
    transactions.open((topic, 0))
    probe.exchange(transactions.init(900_001), 4, note="too long while open")
    transactions.describe()
    given = transactions.producer_id, transactions.epoch
    probe.exchange(transactions.init(80_000, given=given), 4, note="another while open")
    transactions.await_state("CompleteAbort")
    transactions.describe()
    transactions.write_log()


@case()
def ends_after_a_new_producer(probe: Probe) -> None:
    topic = probe.topic()
    transactions = Transactions(probe)
    for version in range(4 if probe.release == "3.7.2" else 6):
        transactions.started((topic, 0))
        transactions.ended(commit=True)
        old = {"producer_id": transactions.producer_id, "producer_epoch": transactions.epoch}
        for commit in (True, False):
            probe.exchange(transactions.end(commit=commit), version, note="committed already")
            transactions.await_state("CompleteCommit", "CompleteAbort")
        transactions.begin()
        for commit in (True, False):
            probe.exchange(transactions.end(commit=commit, **old), version, note="with the epoch before")
            transactions.await_state("Empty", "CompleteCommit", "CompleteAbort")
        for commit in (True, False, False, True):
            probe.exchange(transactions.end(commit=commit), version, note="nothing is open")
            transactions.await_state("Empty", "CompleteCommit", "CompleteAbort")
        transactions.describe()


@case(releases=V2)
def ends_in_other_versions(probe: Probe) -> None:
    topic = probe.topic()
    for first, second in ((5, 3), (3, 5), (4, 5), (5, 4)):
        for commit in (True, False):
            transactions = Transactions(probe, f"{first}-{second}-{commit}")
            transactions.started((topic, 0))
            ended = probe.exchange(transactions.end(commit=commit), first)
            transactions.await_state("CompleteCommit", "CompleteAbort")
            for result in (commit, not commit):
                probe.exchange(transactions.end(commit=result), second, note=f"{result}")
                transactions.await_state("CompleteCommit", "CompleteAbort")
                transactions.describe()
            if first == 5:
                transactions.take(ended)
                for result in (commit, not commit):
                    probe.exchange(transactions.end(commit=result), second, note=f"next epoch, {result}")
                    transactions.await_state("CompleteCommit", "CompleteAbort")
                transactions.describe()


@case()
def partitions_added_in_each_state(probe: Probe) -> None:
    empty, opened, committed, aborted = of_every_state(probe)
    topic = probe.topic("w", partitions=2)
    for version in range(4):
        for transactions in (empty, opened, committed, aborted):
            for step in (-1, 1, 0):
                request = transactions.add((topic, 0), v3_and_below_producer_epoch=transactions.epoch + step)
                probe.exchange(request, version, note=f"{transactions.id[-5:]} {step}")
            transactions.describe()
    probe.exchange(empty.add(), 3, note="no topics")
    probe.exchange(empty.add((topic, 0), (topic, 0), (topic, 1)), 3, note="twice")
    probe.exchange(empty.add((STATE_TOPIC, 0)), 3, note="an internal topic")
    probe.exchange(empty.add(("__consumer_offsets", 0), (topic, 1)), 2, note="an internal topic and another")
    empty.describe()


@case()
def partitions_verified_in_each_state(probe: Probe) -> None:
    found = of_every_state(probe)
    topic = found[1].probe.topic("w", partitions=2)
    for version in (4,) if probe.release == "3.7.2" else (4, 5):
        for transactions in found:
            for step in (-1, 1, 0):
                entry = transactions.verify((topic, 0), producer_epoch=transactions.epoch + step)
                probe.exchange(batched(entry), version, note=f"{transactions.id[-5:]} {step}")
            probe.exchange(batched(transactions.verify((topic, 1), verify_only=False)), version, note="added")
            probe.exchange(batched(transactions.verify((topic, 1), (topic, 0))), version, note="one of two")
            transactions.describe()
        probe.exchange(batched(*(each.verify((topic, 1)) for each in found)), version, note="all")
        probe.exchange(batched(found[0].verify(), found[0].verify((topic, 0))), version, note="the same twice")
        for verify_only in (True, False):
            entries = [
                found[1].verify((topic, 0), (topic, 1), verify_only=verify_only),
                found[1].verify((topic, 1), verify_only=verify_only),
                found[1].verify((topic, 0), producer_epoch=77, verify_only=verify_only),
            ]
            probe.exchange(batched(*entries), version, note=f"three times, {verify_only}")


@case()
def coordinators_of_odd_keys(probe: Probe) -> None:
    await_transactions(probe)
    for version in range(1, 5 if probe.release == "3.7.2" else 7):
        for key in ("", "a", "x" * 300, "\u00e9\u4e16", " ", STATE_TOPIC, "a:b"):
            for kind in (TRANSACTION, 3, -1):
                request = FindCoordinatorRequest(key=key, key_type=kind, coordinator_keys=[key])
                probe.exchange(request, version, note=f"{key[:5]} {kind}")
    several = FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=["b", "", "a", "b"])
    probe.exchange(several, 4, note="several")
    probe.exchange(FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=[]), 4, note="none")


@case()
def lists_and_descriptions_in_each_state(probe: Probe) -> None:
    found = of_every_state(probe)
    probe.exchange(describe(*(each.id for each in found), "", f"{probe.name}-none", found[0].id), 0)
    probe.exchange(describe(), 0, note="none")
    ids = [each.producer_id for each in found]
    states = ("Empty", "Ongoing", "CompleteCommit", "CompleteAbort", "PrepareCommit", "Dead", "PrepareEpochFence")
    for version in (0,) if probe.release == "3.7.2" else (0, 1, 2):
        list_own(probe, version, "all")
        for state in (*states, "ongoing", "none", ""):
            list_own(probe, version, state, state_filters=[state])
        list_own(probe, version, "two", state_filters=["Ongoing", "Empty", "none"])
        for producer_id in ids:
            list_own(probe, version, "by producer", producer_id_filters=[producer_id])
        list_own(probe, version, "by producers", producer_id_filters=[ids[0], -1, ids[2], ids[2]])
        list_own(probe, version, "by both", producer_id_filters=ids[:2], state_filters=["Ongoing"])
        if version >= 1:
            for duration in (0, 1, 3_600_000, -5):
                list_own(probe, version, f"longer than {duration}", duration_filter=duration)
        if version >= 2:
            for pattern in ("", ".*", ".*open", "open", "(", f"{probe.name}-(open|done)", "^.*gone$", "(?=x)"):
                list_own(probe, version, f"pattern {pattern}", transactional_id_pattern=pattern)


@case(settings=OWN_CLUSTER)
def markers_on_internal_topics(probe: Probe) -> None:
    topic, group = probe.topic(), group_of(probe)
    transactions = Transactions(probe)
    transactions.started((topic, 0))
    probe.exchange(transactions.add_offsets(group), 3)
    producer_id, epoch = transactions.producer_id, transactions.epoch
    for version in (0, 1) if probe.release == "3.7.2" else (1, 2):
        for name in ("__consumer_offsets", STATE_TOPIC):
            for commit in (True, False):
                for indexes in ([0], [2, 1], [99, 0], [-1]):
                    request = markers((producer_id, epoch, commit, {name: indexes, topic: [0]}, 0))
                    probe.exchange(request, version, note=f"{name} {indexes} {commit}")
    request = markers((990_001, 0, True, {STATE_TOPIC: [0], "__consumer_offsets": [1], "unknown": [0]}, 3))
    probe.exchange(request, 1, note="an unknown producer")
    probe.exchange(request, 1, note="again")
    older = markers((990_001, 0, True, {STATE_TOPIC: [0], "__consumer_offsets": [1]}, 2))
    probe.exchange(older, 1, note="an older coordinator")
    transactions.ended(commit=True)
    transactions.describe()


@case(releases=V2)
def partitions_that_a_broker_adds(probe: Probe) -> None:
    topic = probe.topic()
    transactions = Transactions(probe)
    transactions.begin()
    probe.exchange(produce(topic, transactions.records(topic), transactional_id=transactions.id), 12)
    transactions.take(probe.exchange(transactions.end(commit=True), 5))
    transactions.await_state("CompleteCommit")
    for step in (0, -1, 1):
        entry = transactions.verify((topic, 0), producer_epoch=transactions.epoch + step, verify_only=False)
        probe.exchange(batched(entry), 5, note=f"added by a broker, {step}")
        transactions.describe()
        probe.exchange(batched(entry), 4, note=f"as of transactions v1, {step}")
    transactions.describe()


@case()
def markers_that_an_administrator_has_overtaken(probe: Probe) -> None:
    topic = probe.topic(partitions=4)
    for step, coordinator_epoch in ((1, 0), (0, 1)):
        transactions = Transactions(probe, f"t{step}")
        transactions.started((topic, 0), (topic, 1), (topic, 2), (topic, 3))
        newer = (transactions.producer_id, transactions.epoch + step, True, {topic: [1]}, coordinator_epoch)
        probe.exchange(markers(newer), 1)
        probe.exchange(transactions.end(commit=False), 3)
        for _ in attempts("the markers that are written"):
            described: Any = probe.quiet(describe(transactions.id), 0)
            if described.transaction_states[0].topics[0].partitions == [1]:
                break
        transactions.describe()
        probe.exchange(transactions.end(commit=False), 3, note="the transaction never ends")
        probe.exchange(transactions.init(), 4, note="the transaction never ends")
        probe.exchange(transactions.add((topic, 2)), 3, note="the transaction never ends")
