"""AddRaftVoter and RemoveRaftVoter, as raw probes see them: a quorum of static voters refuses both (KIP-853)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from protocol_specs.messages.add_raft_voter import AddRaftVoterRequest, Listener
from protocol_specs.messages.api_versions import ApiVersionsRequest
from protocol_specs.messages.metadata import MetadataRequest
from protocol_specs.messages.remove_raft_voter import RemoveRaftVoterRequest
from protocol_specs.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from protocol_specs.uuids import ZERO_UUID, to_text
from tests.differential.case import case
from tests.differential.cases.describe_quorum import METADATA_TOPIC, of, steady

if TYPE_CHECKING:
    from tests.differential.probe import Probe

DIRECTORY = (77).to_bytes(16, "big")
CONTROLLER = Listener(name="CONTROLLER", host="127.0.0.1", port=1)
"""An address where nothing listens: a real broker that connects to a server of another protocol may end."""


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
    response: Any = probe.quiet(MetadataRequest(topics=[]), 9)
    return str(response.cluster_id)


@case()
def additions(probe: Probe) -> None:
    for version in (0, 1):
        probe.exchange(add(), version)
        probe.exchange(add(listeners=[]), version, note="no listeners")
        probe.exchange(add(listeners=[Listener(name="OTHER", host="h", port=1)]), version, note="another listener")
        probe.exchange(add(voter_id=1), version, note="a voter's id")
        probe.exchange(add(voter_id=-1), version, note="id -1")
        probe.exchange(add(voter_id=-7, listeners=[]), version, note="id -7, no listeners")
        probe.exchange(add(voter_directory_id=ZERO_UUID), version, note="no directory")
        probe.exchange(add(timeout_ms=0), version, note="no time")
        probe.exchange(add(timeout_ms=-1), version, note="negative time")
        probe.exchange(add(ack_when_committed=False), version, note="acknowledged early")


@case()
def removals(probe: Probe) -> None:
    for voter_id in (9, 1, -1, 0):
        probe.exchange(remove(voter_id=voter_id), 0, note=str(voter_id))
    probe.exchange(remove(voter_directory_id=ZERO_UUID), 0, note="no directory")


@case()
def cluster_ids(probe: Probe) -> None:
    right = _cluster_id(probe)

    def unnamed(response: dict[str, Any]) -> dict[str, Any]:
        return response | {"errorMessage": response["errorMessage"].replace(right, "<cluster id>")}

    for cluster_id, note in (("", "empty"), ("wrong", "wrong"), (right, "the right one")):
        probe.exchange(add(cluster_id=cluster_id), 0, note=note, only=unnamed)
        probe.exchange(add(cluster_id=cluster_id, listeners=[]), 0, note=f"{note}, no listeners", only=unnamed)
        probe.exchange(add(cluster_id=cluster_id, voter_id=-1), 0, note=f"{note}, id -1", only=unnamed)
        probe.exchange(remove(cluster_id=cluster_id), 0, note=note, only=unnamed)


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
        probe.exchange(add(listeners=given), 0, note=note)


@case()
def bodies_that_are_wrong(probe: Probe) -> None:
    for api_key in (80, 81):
        for body, note in ((b"", "empty"), (b"\0" * 7, "short")):
            probe.raw_body(api_key, 0, body, note=note)


@case(releases=("4.3.1",), settings=(("metadata.max.idle.interval.ms", "502"),))
def a_quorum_whose_voters_may_change(probe: Probe) -> None:
    """The version of the quorum goes up for good: a cluster of its own."""
    directory = ZERO_UUID

    def known(response: dict[str, Any]) -> dict[str, Any]:
        text = json.dumps(steady(response) if "topics" in response else response)
        return json.loads(text.replace(to_text(directory), "<directory>"))  # type: ignore[no-any-return]

    def raise_version(level: int, kind: int = 1) -> None:
        update = FeatureUpdateKey(feature="kraft.version", max_version_level=level, upgrade_type=kind)
        probe.exchange(UpdateFeaturesRequest(feature_updates=[update]), 1, note=f"to {level}, {kind}")

    raise_version(1)
    response: Any = probe.quiet(of((METADATA_TOPIC, (0,))), 2)
    directory = response.topics[0].partitions[0].current_voters[0].replica_directory_id
    for version in range(3):
        probe.exchange(of((METADATA_TOPIC, (0,))), version, only=known)
    for level, kind in ((0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (2, 1)):
        raise_version(level, kind)
    for request, note in (
        (add(voter_id=1), "a voter's id"),
        (add(voter_id=1, voter_directory_id=directory), "the voter"),
        (add(listeners=[]), "no listeners"),
        (add(voter_id=-1), "id -1"),
        (add(), "no voter there"),
        (remove(), "an unknown one"),
        (remove(voter_id=1), "another directory"),
        (remove(voter_id=1, voter_directory_id=directory), "the last voter"),
        (remove(voter_id=-1), "id -1"),
    ):
        probe.exchange(request, 0, note=note, only=known)
    features: Any = probe.quiet(ApiVersionsRequest(client_software_name="probe", client_software_version="1"), 4)
    probe.write(finalized=sorted([each.name, each.max_version_level] for each in features.finalized_features))
