"""Registration, heartbeats, fencing and commits, as brokers and journal see them."""

from __future__ import annotations

from typing import Any

import pytest

from broker_sim.control.events import BrokerFenced, BrokerRegistered, BrokerUnfenced, RequestReceived, TopicCreated
from broker_sim.errors import BrokerSimError
from broker_sim.links.node_links import CONTROLLER_ID
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.allocate_producer_ids import AllocateProducerIdsRequest
from protocol_specs.messages.alter_partition import AlterPartitionRequest
from protocol_specs.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from protocol_specs.messages.broker_registration import BrokerRegistrationRequest, Feature, Listener

Make = Any


def heartbeat(cluster: Any, broker_id: int, **changes: Any) -> BrokerHeartbeatResponse:
    controller = cluster.cluster.controller
    fields = {
        "broker_id": broker_id,
        "broker_epoch": controller.image.brokers[broker_id].epoch,
        "current_metadata_offset": controller.image.version,
        "want_fence": False,
        "want_shut_down": False,
    }
    response: BrokerHeartbeatResponse = controller.heartbeat(BrokerHeartbeatRequest(**{**fields, **changes}))
    return response


def register(cluster: Any, broker_id: int, incarnation: bytes, previous_epoch: int = -1, **changes: Any) -> Any:
    features = cluster.cluster.broker(broker_id).features
    fields = {
        "broker_id": broker_id,
        "cluster_id": cluster.cluster.cluster_id,
        "incarnation_id": incarnation,
        "listeners": [Listener(name="PLAINTEXT", host="h", port=1, security_protocol=0)],
        "features": [
            Feature(name=name, min_supported_version=lowest, max_supported_version=highest)
            for name, lowest, highest in features
        ],
        "log_dirs": [bytes([broker_id]) * 16],
        "previous_broker_epoch": previous_epoch,
    }
    return cluster.cluster.controller.process_registration(BrokerRegistrationRequest(**{**fields, **changes}))


def test_a_silent_broker_is_fenced_when_its_session_ends_to_the_microsecond(replicas: Make) -> None:
    cluster = replicas()
    cluster.run(ms=2_999)
    cluster.cluster.kill(2)
    # The last heartbeat came at 2,000 ms.
    cluster.run(ms=7_999.999)
    assert cluster.journal.events_of(BrokerFenced) == []
    cluster.run(ms=0.001)
    (fenced,) = cluster.journal.events_of(BrokerFenced)
    assert fenced.broker_id == 2
    assert cluster.isr() == (1, 3)


def test_a_slow_way_to_the_controller_is_no_silence(replicas: Make) -> None:
    cluster = replicas()
    cluster.cluster.links.link(2, CONTROLLER_ID).set_delay(3_000)
    cluster.run(ms=60_000)
    assert cluster.journal.events_of(BrokerFenced) == []


def test_a_broker_that_was_cut_off_is_unfenced_by_its_next_heartbeat(replicas: Make) -> None:
    cluster = replicas()
    cluster.cluster.links.link(2, CONTROLLER_ID).cut()
    cluster.run(ms=12_000)
    assert cluster.cluster.controller.image.brokers[2].fenced
    cluster.cluster.links.link(2, CONTROLLER_ID).restore()
    cluster.settle()
    (unfenced,) = cluster.journal.events_of(BrokerUnfenced)
    assert unfenced.broker_id == 2
    assert cluster.isr() == (1, 3, 2)


def test_another_process_with_a_living_brokers_id_is_refused(replicas: Make) -> None:
    cluster = replicas()
    assert register(cluster, 2, incarnation=bytes([5]) * 16).error_code is ErrorCode.DUPLICATE_BROKER_REGISTRATION
    cluster.cluster.kill(2)
    cluster.run(ms=9_000)
    response = register(cluster, 2, incarnation=bytes([5]) * 16)
    assert response.error_code is ErrorCode.NONE
    (registered,) = cluster.journal.events_of(BrokerRegistered)
    assert registered.broker_epoch == response.broker_epoch == cluster.cluster.controller.image.brokers[2].epoch


def test_a_broker_is_fenced_until_it_has_seen_its_own_registration(replicas: Make) -> None:
    cluster = replicas()
    cluster.cluster.kill(2)
    cluster.run(ms=9_000)
    epoch = register(cluster, 2, incarnation=bytes([5]) * 16).broker_epoch
    behind = heartbeat(cluster, 2, current_metadata_offset=epoch - 1)
    assert (behind.is_caught_up, behind.is_fenced) == (False, True)
    wants_to_wait = heartbeat(cluster, 2, current_metadata_offset=epoch, want_fence=True)
    assert (wants_to_wait.is_caught_up, wants_to_wait.is_fenced) == (True, True)
    assert not heartbeat(cluster, 2, current_metadata_offset=epoch).is_fenced


def test_requests_of_an_earlier_broker_epoch_are_stale(replicas: Make) -> None:
    cluster = replicas()
    controller = cluster.cluster.controller
    assert heartbeat(cluster, 2, broker_epoch=0).error_code is ErrorCode.STALE_BROKER_EPOCH
    for response in (
        controller.alter_partition(AlterPartitionRequest(broker_id=2, broker_epoch=0, topics=[])),
        controller.allocate_block(AllocateProducerIdsRequest(broker_id=2, broker_epoch=0)),
    ):
        assert response.error_code is ErrorCode.STALE_BROKER_EPOCH


def test_a_broker_that_wants_to_be_fenced_is(replicas: Make) -> None:
    cluster = replicas()
    assert heartbeat(cluster, 1, want_fence=True).is_fenced
    assert cluster.leader() == 2


def test_a_shutdown_waits_for_leaderships_and_for_the_others_to_know(replicas: Make) -> None:
    cluster = replicas()
    assert not heartbeat(cluster, 1, want_shut_down=True).should_shut_down
    version = cluster.cluster.controller.image.version
    assert cluster.cluster.controller.image.brokers[1].in_controlled_shutdown
    assert cluster.leader() == 2
    assert cluster.isr() == (2, 3)
    assert not heartbeat(cluster, 1, want_shut_down=True).should_shut_down
    for other in (2, 3):
        heartbeat(cluster, other, current_metadata_offset=version)
    assert heartbeat(cluster, 1, want_shut_down=True).should_shut_down
    assert cluster.cluster.controller.image.brokers[1].fenced


def test_a_broker_that_leads_nothing_may_shut_down_at_once(replicas: Make) -> None:
    cluster = replicas()
    assert heartbeat(cluster, 2, want_shut_down=True).should_shut_down
    assert cluster.isr() == (1, 3)


@pytest.mark.parametrize(("clean", "elr"), [(True, (2, 3)), (False, (2,))])
def test_a_broker_without_a_clean_shutdown_is_not_eligible(replicas: Make, clean: bool, elr: tuple[int, ...]) -> None:
    cluster = replicas(topic_config={"min.insync.replicas": "3"})
    epoch = cluster.cluster.broker(3).broker_epoch
    for broker_id in (3, 2):
        cluster.cluster.kill(broker_id)
        cluster.run(ms=9_000)
    assert cluster.cluster.registration_of(*cluster.topic).elr == (2, 3)
    register(cluster, 3, incarnation=bytes([5]) * 16, previous_epoch=epoch if clean else -1)
    assert cluster.cluster.registration_of(*cluster.topic).elr == elr


def test_a_change_is_the_next_version_and_reaches_every_broker_in_one_turn(replicas: Make) -> None:
    cluster = replicas()
    controller = cluster.cluster.controller
    version = controller.image.version
    committed = controller.change("nothing much", lambda image: image.without_topics(["t"]))
    assert committed.result.version == version + 1
    assert [broker.metadata_version for broker in cluster.cluster.brokers.values()] == [version] * 3
    cluster.run(ms=0)
    assert [broker.metadata_version for broker in cluster.cluster.brokers.values()] == [version + 1] * 3
    assert controller.change("nothing at all", lambda image: image).result.version == version + 1


def test_a_change_of_what_is_not_there_names_it(replicas: Make) -> None:
    controller = replicas().cluster.controller
    with pytest.raises(BrokerSimError, match="delete u: the metadata has no 'u'"):
        controller.change("delete u", lambda image: image.without_topics(["u"]))


def test_the_journal_has_an_event_per_topic(replicas: Make) -> None:
    (created,) = replicas().journal.events_of(TopicCreated)
    assert (created.topic, created.partitions) == ("t", 1)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"cluster_id": "another"}, ErrorCode.INCONSISTENT_CLUSTER_ID),
        ({"is_migrating_zk_broker": True}, ErrorCode.BROKER_ID_NOT_REGISTERED),
        ({"log_dirs": []}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": [bytes(15) + b"\x02"]}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": [bytes([9]) * 16] * 2}, ErrorCode.INVALID_REGISTRATION),
        ({"features": []}, ErrorCode.UNSUPPORTED_VERSION),
        (
            {"features": [Feature(name="metadata.version", min_supported_version=7, max_supported_version=20)]},
            ErrorCode.UNSUPPORTED_VERSION,
        ),
    ],
)
def test_an_invalid_registration_is_refused(replicas: Make, changes: dict[str, Any], error: ErrorCode) -> None:
    cluster = replicas()
    cluster.cluster.kill(2)
    cluster.run(ms=9_000)
    version = cluster.cluster.controller.image.version
    assert register(cluster, 2, bytes([5]) * 16, **changes).error_code is error
    assert cluster.cluster.controller.image.version == version


def test_a_directory_of_another_broker_is_refused(replicas: Make) -> None:
    cluster = replicas()
    cluster.cluster.kill(2)
    cluster.run(ms=9_000)
    taken = cluster.cluster.controller.image.brokers[1].log_dirs
    assert register(cluster, 2, bytes([5]) * 16, log_dirs=list(taken)).error_code is ErrorCode.INVALID_REGISTRATION


def test_the_same_process_that_registers_again_keeps_its_epoch(replicas: Make) -> None:
    cluster = replicas()
    before = cluster.cluster.controller.image.brokers[2]
    again = register(cluster, 2, before.incarnation_id, rack="elsewhere")
    after = cluster.cluster.controller.image.brokers[2]
    assert again.broker_epoch == before.epoch == after.epoch
    assert (after.fenced, after.rack) == (False, "elsewhere")


def test_a_brokers_epoch_is_the_offset_of_its_registration(replicas: Make) -> None:
    cluster = replicas()
    cluster.cluster.kill(2)
    cluster.run(ms=9_000)
    epoch = register(cluster, 2, bytes([5]) * 16).broker_epoch
    (record,) = [each for each in cluster.cluster.controller.metadata_log.records(epoch) if each.offset == epoch]
    assert (type(record.message).__name__, record.message.broker_id, record.message.broker_epoch) == (
        "RegisterBrokerRecord",
        2,
        epoch,
    )


@pytest.mark.parametrize(("release", "versions"), [("3.7.2", (3, 1, 3, 0)), ("4.3.1", (4, 2, 3, 0))])
def test_brokers_speak_to_the_controller_in_the_versions_of_their_release(
    replicas: Make, release: str, versions: tuple[int, ...]
) -> None:
    cluster = replicas(release=release)
    cluster.cluster.kill(2)
    cluster.run(ms=12_000)
    cluster.cluster.restart(2)
    cluster.cluster.broker(1).producer_ids.generate()
    cluster.settle()
    requested = {each.api: each.api_version for each in cluster.journal.events_of(RequestReceived)}
    names = ("BrokerRegistration", "BrokerHeartbeat", "AlterPartition", "AllocateProducerIds")
    assert tuple(requested[name] for name in names) == versions


def test_a_cluster_begins_its_log_as_real_controllers_do(replicas: Make) -> None:
    records = replicas().cluster.controller.metadata_log.records()
    names = [type(each.message).__name__ for each in records]
    assert names == [
        "LeaderChangeMessage",
        "BeginTransactionRecord",
        *["FeatureLevelRecord"] * 6,
        "ConfigRecord",
        "EndTransactionRecord",
        *["RegisterBrokerRecord"] * 3,
        *["BrokerRegistrationChangeRecord"] * 6,
        "TopicRecord",
        "PartitionRecord",
    ]
    assert [each.offset for each in records] == list(range(len(records)))
