"""InitProducerId v6 with two-phase commits (KIP-939), with and without their configurations, as raw probes see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from protocol_specs.messages.api_versions import ApiVersionsRequest
from protocol_specs.messages.init_producer_id import InitProducerIdRequest
from tests.differential.case import case
from tests.differential.cases.transaction_log import SOON
from tests.differential.requests import await_next_millisecond, produce, read_back
from tests.differential.transaction_requests import Transactions, list_own

if TYPE_CHECKING:
    from typing import Any

    from tests.differential.probe import Probe

V6: Final = 6
RELEASES: Final = ("4.3.1",)
UNSTABLE: Final = (*SOON, ("unstable.api.versions.enable", "true"))
TWO_PHASES: Final = (*UNSTABLE, ("transaction.two.phase.commit.enable", "true"))
FLAGS: Final = ((False, False), (True, False), (False, True), (True, True))


def _init(transactions: Transactions, *, enable: bool, keep: bool, timeout_ms: int = 60_000) -> InitProducerIdRequest:
    request = transactions.init(timeout_ms)
    request.enable2_pc, request.keep_prepared_txn = enable, keep
    return request


def _only_init(response: Any) -> Any:
    return [each for each in response["apiKeys"] if each["apiKey"] == InitProducerIdRequest.API_KEY]


def _requests(probe: Probe) -> None:
    topic = probe.topic()
    probe.exchange(ApiVersionsRequest(), 2, only=_only_init)
    for enable, keep in FLAGS:
        note = f"{enable} {keep}"
        transactions = Transactions(probe, note.replace(" ", "-"))
        transactions.begin()
        for timeout_ms in (60_000, 0, -1, 2**31 - 1):
            request = _init(transactions, enable=enable, keep=keep, timeout_ms=timeout_ms)
            response = probe.exchange(request, V6, note=f"{note}, {timeout_ms} ms")
            if not isinstance(response, str) and not response.error_code:
                transactions.take(response)
            transactions.describe(note)
        request = _init(transactions, enable=enable, keep=keep)
        request.producer_id, request.producer_epoch = transactions.producer_id, transactions.epoch
        probe.exchange(request, V6, note=f"{note}, given")
        transactions.begin()
        records = transactions.records(topic)
        probe.exchange(produce(topic, records, transactional_id=transactions.id), 12, note=note)
        probe.exchange(_init(transactions, enable=enable, keep=keep), V6, note=f"{note}, open")
        transactions.await_state("Ongoing", "CompleteAbort")
        probe.exchange(_init(transactions, enable=enable, keep=keep), V6, note=f"{note}, again")
        transactions.describe(note)
        transactions.write_log(note)
    for enable, keep in FLAGS:
        for transactional_id in (None, ""):
            request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=60_000)
            request.enable2_pc, request.keep_prepared_txn = enable, keep
            probe.exchange(request, V6, note=f"{enable} {keep}, {transactional_id}")
    list_own(probe, 1, "all")
    read_back(probe, topic)


@case(releases=RELEASES)
def versions_that_are_not_stable(probe: Probe) -> None:
    probe.exchange(ApiVersionsRequest(), 2, only=_only_init)
    transactions = Transactions(probe)
    transactions.begin()
    for enable, keep in FLAGS:
        probe.exchange(_init(transactions, enable=enable, keep=keep), V6, note=f"{enable} {keep}")


@case(releases=RELEASES, settings=UNSTABLE)
def requests_without_two_phases(probe: Probe) -> None:
    _requests(probe)


@case(releases=RELEASES, settings=TWO_PHASES)
def requests_with_two_phases(probe: Probe) -> None:
    _requests(probe)


@case(releases=RELEASES, settings=TWO_PHASES)
def transactions_of_two_phases(probe: Probe) -> None:
    topic = probe.topic()
    for version, ends in ((12, 5), (9, 3)):
        transactions = Transactions(probe, f"{version}")
        transactions.begin()
        request = _init(transactions, enable=True, keep=False, timeout_ms=1)
        transactions.take(probe.exchange(request, V6))
        if version == 9:
            probe.exchange(transactions.add((topic, 0)), 3)
        records = transactions.records(topic)
        probe.exchange(produce(topic, records, transactional_id=transactions.id), version)
        transactions.describe("open")
        await_next_millisecond()
        list_own(probe, 2, "open", duration_filter=0)
        probe.exchange(transactions.end(commit=True), ends)
        transactions.await_state("CompleteCommit")
        transactions.describe("committed")
        for request_version in (4, 5, V6):
            probe.exchange(transactions.init(30_000), request_version, note="one phase again")
            transactions.describe("one phase")
        transactions.write_log()
    read_back(probe, topic)
