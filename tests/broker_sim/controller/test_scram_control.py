"""SCRAM credentials at the controller: what is altered, in which order, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_sim.cluster import Cluster
from broker_sim.controller.scram_control import ScramControl
from broker_sim.metadata.metadata_image import MetadataImage
from broker_sim.metadata.metadata_records import image_records
from broker_sim.metadata.metadata_replay import replay
from protocol_specs.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from protocol_specs.sasl.scram import ScramMechanism
from sim_runtime.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator

SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    world = World(1)
    made = Cluster(reactor=world.reactor, streams=world.streams, brokers=1, listen=False)
    made.start()
    yield made
    made.close()


def put(
    user: str, mechanism: int = SHA_256, iterations: int = 4096, salted_password: bytes = b"key"
) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(
        name=user, mechanism=mechanism, iterations=iterations, salt=b"salt", salted_password=salted_password
    )


def remove(user: str, mechanism: int = SHA_256) -> ScramCredentialDeletion:
    return ScramCredentialDeletion(name=user, mechanism=mechanism)


def alter(cluster: Cluster, *changes: ScramCredentialUpsertion | ScramCredentialDeletion) -> dict[str, int]:
    """The error code by user."""
    request = AlterUserScramCredentialsRequest(
        deletions=[each for each in changes if isinstance(each, ScramCredentialDeletion)],
        upsertions=[each for each in changes if isinstance(each, ScramCredentialUpsertion)],
    )
    response = cluster.controller.controls.scram.alter(request)
    assert len({each.user for each in response.results}) == len(response.results)
    return {each.user: each.error_code for each in response.results}


def test_credentials_are_records_that_every_node_replays(cluster: Cluster) -> None:
    assert alter(cluster, put("ann"), put("bob")) == {"ann": 0, "bob": 0}
    assert alter(cluster, put("ann", SHA_512, 9000)) == {"ann": 0}
    image = cluster.controller.image
    found = image.scram.credential("ann", SHA_512)
    assert found == SHA_512.credential(b"key", b"salt", 9000)
    records = [record for record, _ in image_records(image)]
    assert replay(MetadataImage.empty("c"), records, version=1).scram == image.scram
    assert alter(cluster, remove("ann"), put("bob", iterations=5000)) == {"ann": 0, "bob": 0}
    names = [type(record.message).__name__ for record in cluster.controller.metadata_log.batches[-1].records]
    assert names == ["RemoveUserScramCredentialRecord", "UserScramCredentialRecord"]
    assert image.scram.credential("ann", SHA_256) is not None, "an image never changes"
    assert cluster.controller.image.scram.credential("ann", SHA_256) is None


def test_deletions_come_first_and_errors_last(cluster: Cluster) -> None:
    alter(cluster, put("ann"))
    results = alter(cluster, put("zoe"), put("", SHA_256), put("low", SHA_256, 4095), remove("no"), remove("ann"))
    assert results == {"ann": 0, "zoe": 0, "": 93, "no": 91, "low": 93}
    assert list(results)[:2] == ["ann", "zoe"]


def test_a_user_is_altered_once_per_request(cluster: Cluster) -> None:
    alter(cluster, put("ann"))
    before = cluster.controller.image
    assert alter(cluster, remove("ann"), put("ann", SHA_512), put("ann")) == {"ann": 92}
    assert alter(cluster, put("ann", salted_password=b""), put("ann", salted_password=b"")) == {"ann": 92}
    assert alter(cluster, put("ann", salted_password=b"")) == {"ann": -1}
    assert cluster.controller.image is before


def test_a_cluster_below_metadata_version_3_5_has_no_credentials(cluster: Cluster) -> None:
    cluster.controller.change("older", lambda image: image.with_finalized_features({"metadata.version": 10}))
    assert alter(cluster, put("ann"), remove("bob"), put("", 9), put("ann")) == {"ann": 35, "bob": 35, "": 35}


@pytest.mark.parametrize(("names_the_feature", "feature"), [(True, "metadata.version"), (False, "metadata version")])
def test_the_refusal_is_that_of_the_release(cluster: Cluster, names_the_feature: bool, feature: str) -> None:
    cluster.controller.change("older", lambda image: image.with_finalized_features({"metadata.version": 10}))
    control = ScramControl(cluster.controller, names_the_feature=names_the_feature)
    (result,) = control.alter(AlterUserScramCredentialsRequest(deletions=[], upsertions=[put("ann")])).results
    assert result.error_message == f"The current {feature} does not support SCRAM"
