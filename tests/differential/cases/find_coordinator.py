"""FindCoordinator, as raw probes see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from tests.differential.case import case
from tests.differential.probe import attempts
from tests.differential.requests import all_versions, metadata

if TYPE_CHECKING:
    from tests.differential.probe import Probe

GROUP, TRANSACTION, SHARE = 0, 1, 2
STATE_TOPIC: Final = (
    ("share.coordinator.state.topic.replication.factor", "1"),
    ("share.coordinator.state.topic.min.isr", "1"),
)
INTERNAL_TOPICS = ("__consumer_offsets", "__transaction_state", "__share_group_state")


def await_coordinator(probe: Probe, key_type: int, key: str = "any") -> None:
    """Retry until the internal topic is there; learn its id."""
    for _ in attempts("a coordinator"):
        request = FindCoordinatorRequest(coordinator_keys=[key], key_type=key_type)
        response: Any = probe.quiet(request, 6 if key_type == SHARE else 4)
        if response.coordinators[0].error_code == 0:
            name = INTERNAL_TOPICS[key_type]
            described: Any = probe.quiet(metadata(name), 12)
            probe.normaliser.know_topic(name, described.topics[0].topic_id)
            return


@case()
def group_in_every_version(probe: Probe) -> None:
    await_coordinator(probe, GROUP)
    for version in all_versions(FindCoordinatorRequest):
        probe.exchange(FindCoordinatorRequest(key="g", coordinator_keys=["g"]), version)


@case()
def transaction_in_every_version(probe: Probe) -> None:
    await_coordinator(probe, TRANSACTION)
    for version in range(1, 7):
        request = FindCoordinatorRequest(key="t", coordinator_keys=["t"], key_type=TRANSACTION)
        probe.exchange(request, version)


@case()
def several_keys(probe: Probe) -> None:
    await_coordinator(probe, GROUP)
    for keys in ([], ["a", "b"], ["b", "a"], ["a", "a"], ["", "a"], ["ä", "a b", "x" * 300]):
        for version in (4, 5, 6):
            probe.exchange(FindCoordinatorRequest(coordinator_keys=keys), version)


@case()
def empty_keys(probe: Probe) -> None:
    await_coordinator(probe, GROUP)
    await_coordinator(probe, TRANSACTION)
    for key_type in (GROUP, TRANSACTION):
        for version in (0, 1, 3, 4):
            if version or key_type == GROUP:
                probe.exchange(FindCoordinatorRequest(key="", coordinator_keys=[""], key_type=key_type), version)


@case()
def unknown_key_types(probe: Probe) -> None:
    for key_type in (3, 9, -1, 127, -128):
        for version in (1, 2, 3, 4):
            probe.exchange(FindCoordinatorRequest(key="g", coordinator_keys=["g", "h"], key_type=key_type), version)
    probe.exchange(FindCoordinatorRequest(coordinator_keys=[], key_type=9), 4)


@case()
def share_keys_in_versions_that_cannot(probe: Probe) -> None:
    for version in (1, 3, 4, 5):
        probe.exchange(FindCoordinatorRequest(key="g:t:0", coordinator_keys=["g:t:0"], key_type=SHARE), version)


@case(releases=("4.3.1",))
def share_keys_that_are_malformed(probe: Probe) -> None:
    for key in ("", "g", "g:t", "g:AAAAAAAAAAAAAAAAAAAAAA:x", "g:x:0", ":AAAAAAAAAAAAAAAAAAAAAA:0"):
        probe.exchange(FindCoordinatorRequest(coordinator_keys=[key], key_type=SHARE), 6, note=key)


@case(releases=("4.3.1",), settings=STATE_TOPIC)
def share_keys_as_java_reads_them(probe: Probe) -> None:
    await_coordinator(probe, SHARE, key="g:AAAAAAAAAAAAAAAAAAAAAQ:0")
    topic_id = "AAAAAAAAAAAAAAAAAAAAAQ"
    groups = (" ", "\t", "\x1f ", "\u00a0", "\u2003", "a:b", ":a", " g")
    ids = (f"{topic_id}=", f"{topic_id}==", f"{topic_id}===", f"{topic_id[:-1]}R", f"{topic_id[:20]}+/", f" {topic_id}")
    partitions = ("-0", "+1", "1_0", " 1", "1\n", "\u0663", "\U0001d7d9", "2147483648", "0:", "0::", "")
    keys = [f"{group}:{topic_id}:0" for group in groups]
    keys += [f"g:{each}:0" for each in ids]
    keys += [f"g:{topic_id}:{partition}" for partition in partitions]
    for key in keys:
        probe.exchange(FindCoordinatorRequest(coordinator_keys=[key], key_type=SHARE), 6, note=repr(key))


@case()
def bodies_that_are_wrong(probe: Probe) -> None:
    await_coordinator(probe, GROUP)
    for version, body, note in (
        (0, b"", "empty"),
        (0, b"\xff\xff", "null key"),
        (0, b"\0\5g", "the key is cut"),
        (0, b"\0\1gmore", "more bytes"),
        (1, b"\0\1g", "no key type"),
        (3, b"\0\0\0", "null key"),
        (4, b"\0\0\0", "null keys"),
        (4, b"\0\2\0\0", "a null key"),
        (4, b"\0\xff\xff\xff\xff\x0f\0", "2**32-2 keys"),
    ):
        probe.raw_body(10, version, body, note=note)
