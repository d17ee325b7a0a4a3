"""AddRaftVoter and RemoveRaftVoter, as raw probes see them: a quorum of static voters refuses both (KIP-853)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.messages.add_raft_voter import AddRaftVoterRequest, Listener
from protocol_specs.messages.metadata import MetadataRequest
from protocol_specs.messages.remove_raft_voter import RemoveRaftVoterRequest
from protocol_specs.uuids import ZERO_UUID
from tests.differential.case import case

if TYPE_CHECKING:
    from tests.differential.probe import Probe

DIRECTORY = (77).to_bytes(16, "big")
CONTROLLER = Listener(name="CONTROLLER", host="127.0.0.1", port=9093)


def add(**fields: Any) -> AddRaftVoterRequest:
    """A request to add a voter that could be added, but for the fields given."""
    usual = {
        "cluster_id": None,
        "timeout_ms": 1_000,
        "voter_id": 9,
        "voter_directory_id": DIRECTORY,
        "listeners": [CONTROLLER],
    }
    return AddRaftVoterRequest(**(usual | fields))


def remove(**fields: Any) -> RemoveRaftVoterRequest:
    """A request to remove a voter."""
    return RemoveRaftVoterRequest(**({"cluster_id": None, "voter_id": 9, "voter_directory_id": DIRECTORY} | fields))


def _cluster_id(probe: Probe) -> str:
    answer: Any = probe.quiet(MetadataRequest(topics=[]), 9)
    return str(answer.cluster_id)


@case()
def additions(probe: Probe) -> None:
    for version in (0, 1):
        probe.ask(add(), version)
        probe.ask(add(listeners=[]), version, note="no listeners")
        probe.ask(add(listeners=[Listener(name="OTHER", host="h", port=1)]), version, note="another listener")
        probe.ask(add(voter_id=1), version, note="a voter's id")
        probe.ask(add(voter_id=-1), version, note="id -1")
        probe.ask(add(voter_id=-7, listeners=[]), version, note="id -7, no listeners")
        probe.ask(add(voter_directory_id=ZERO_UUID), version, note="no directory")
        probe.ask(add(timeout_ms=0), version, note="no time")
        probe.ask(add(timeout_ms=-1), version, note="negative time")
        probe.ask(add(ack_when_committed=False), version, note="acknowledged early")


@case()
def removals(probe: Probe) -> None:
    for voter_id in (9, 1, -1, 0):
        probe.ask(remove(voter_id=voter_id), 0, note=str(voter_id))
    probe.ask(remove(voter_directory_id=ZERO_UUID), 0, note="no directory")


@case()
def cluster_ids(probe: Probe) -> None:
    right = _cluster_id(probe)

    def unnamed(answer: dict[str, Any]) -> dict[str, Any]:
        return answer | {"errorMessage": answer["errorMessage"].replace(right, "<cluster id>")}

    for cluster_id, note in (("", "empty"), ("wrong", "wrong"), (right, "the right one")):
        probe.ask(add(cluster_id=cluster_id), 0, note=note, only=unnamed)
        probe.ask(add(cluster_id=cluster_id, listeners=[]), 0, note=f"{note}, no listeners", only=unnamed)
        probe.ask(add(cluster_id=cluster_id, voter_id=-1), 0, note=f"{note}, id -1", only=unnamed)
        probe.ask(remove(cluster_id=cluster_id), 0, note=note, only=unnamed)


@case()
def listeners(probe: Probe) -> None:
    other = Listener(name="OTHER", host="h", port=1)
    third = Listener(name="A", host="127.0.0.1", port=65_535)
    for given, note in (
        ([CONTROLLER, other], "two"),
        ([other, third], "two others"),
        ([third, other], "two others, the other way"),
        ([CONTROLLER, CONTROLLER], "the same twice"),
        ([Listener(name="controller", host="h", port=1)], "in lower case"),
    ):
        probe.ask(add(listeners=given), 0, note=note)


@case()
def bodies_that_are_wrong(probe: Probe) -> None:
    for api_key in (80, 81):
        for body, note in ((b"", "empty"), (b"\0" * 7, "short")):
            probe.raw_body(api_key, 0, body, note=note)
