"""InitProducerId, as raw probes see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.init_producer_id import InitProducerIdRequest
from tests.differential.case import case
from tests.differential.cases.find_coordinator import TRANSACTION, await_coordinator
from tests.differential.probe import attempts
from tests.differential.requests import all_versions

if TYPE_CHECKING:
    from tests.differential.probe import Probe


def init(transactional_id: str | None = None, timeout_ms: int = 60_000, **fields: int) -> InitProducerIdRequest:
    """A request for a producer id."""
    return InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=timeout_ms, **fields)


def await_ids(probe: Probe) -> None:
    """Retry until the broker has its first block of ids."""
    for _ in attempts("a first block of producer ids"):
        response: Any = probe.quiet(init(), 4)
        if response.error_code == 0:
            return


@case()
def every_version(probe: Probe) -> None:
    await_ids(probe)
    for version in all_versions(InitProducerIdRequest):
        probe.exchange(init(), version)


@case()
def ids_follow_each_other(probe: Probe) -> None:
    await_ids(probe)
    first: Any = probe.quiet(init(), 4)
    for step in (1, 2, 3):
        following: Any = probe.quiet(init(), 4)
        assert isinstance(following.producer_id, int)
        probe.write(step=following.producer_id - first.producer_id == step)


@case()
def a_timeout_does_not_matter_without_a_transactional_id(probe: Probe) -> None:
    await_ids(probe)
    for timeout_ms in (0, -1, 2_147_483_647, -2_147_483_648):
        probe.exchange(init(timeout_ms=timeout_ms), 4)
        probe.exchange(init(timeout_ms=timeout_ms), 0)


@case()
def a_given_id_without_a_transactional_id(probe: Probe) -> None:
    await_ids(probe)
    for producer_id, epoch in ((5, 0), (5, 3), (0, 0), (5, -1), (-1, 5), (-2, -2), (5, 32_767), (9_000_000_000, 1)):
        for version in (3, 4):
            probe.exchange(init(producer_id=producer_id, producer_epoch=epoch), version, note=f"{producer_id} {epoch}")


@case()
def a_given_id_is_not_given_again(probe: Probe) -> None:
    await_ids(probe)
    first: Any = probe.quiet(init(), 4)
    second: Any = probe.quiet(init(producer_id=first.producer_id, producer_epoch=0), 4)
    probe.write(another=second.producer_id != first.producer_id, epoch=second.producer_epoch)


@case()
def an_empty_transactional_id(probe: Probe) -> None:
    for version in range(5):
        probe.exchange(init(""), version)
    probe.exchange(init("", 0), 4)


@case()
def an_id_and_an_epoch_that_do_not_belong_together(probe: Probe) -> None:
    await_coordinator(probe, TRANSACTION)
    for producer_id, epoch in ((5, -1), (-1, 5), (-2, -1), (-1, -2)):
        probe.exchange(
            init(probe.name, producer_id=producer_id, producer_epoch=epoch), 4, note=f"{producer_id} {epoch}"
        )


def await_transactions(probe: Probe) -> None:
    """Request several ids until the coordinators of all partitions have loaded."""
    await_ids(probe)
    await_coordinator(probe, TRANSACTION)
    loading = {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR}
    for number in range(10):
        for _ in attempts("a loaded transaction coordinator"):
            response: Any = probe.quiet(init(f"{probe.name}-{number}"), 4)
            if response.error_code not in loading:
                break


@case()
def transactional_ids(probe: Probe) -> None:
    await_transactions(probe)
    for version in range(6):
        probe.exchange(init(probe.name), version)
    probe.exchange(init(probe.name, 61_000), 4, note="another timeout")


@case()
def timeouts_of_transactional_ids(probe: Probe) -> None:
    await_coordinator(probe, TRANSACTION)
    for timeout_ms in (0, -1, 900_001, 2_147_483_647):
        for version in (0, 4):
            probe.exchange(init(probe.name, timeout_ms), version, note=str(timeout_ms))


@case()
def ids_given_with_a_transactional_id(probe: Probe) -> None:
    await_transactions(probe)
    probe.exchange(init(probe.name, producer_id=5, producer_epoch=0), 4, note="a new transactional id")
    first: Any = probe.quiet(init(probe.name), 4)
    for step, epoch in ((0, 0), (1, 0), (0, 5), (0, 1)):
        request = init(probe.name, producer_id=first.producer_id + step, producer_epoch=epoch)
        probe.exchange(request, 4, note=f"{step} {epoch}")


@case()
def bodies_that_are_wrong(probe: Probe) -> None:
    await_ids(probe)
    for version, body, note in (
        (0, b"", "empty"),
        (0, b"\xff\xff", "no timeout"),
        (0, b"\xff\xff\0\0\0\1more", "more bytes"),
        (0, b"\xff\xfe\0\0\0\1", "an id of -2 bytes"),
        (0, b"\0\5ab", "the id is cut"),
        (2, b"\0\0\0\0\1\0", "right"),
        (2, b"\0\0\0\0\1", "no tags"),
        (4, b"\0\0\0\0\1\0", "the fields of version 2"),
    ):
        probe.raw_body(22, version, body, note=note)
