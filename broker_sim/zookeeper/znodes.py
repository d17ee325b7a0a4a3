"""Converts the state of the store to a tree of znodes and back. Mirrors ZkData.

Persistent znodes alone: broker ids and /controller end with their sessions. The content of a znode is Kafka's JSON, in
the version that the release writes.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote, unquote

from broker_sim.config.config_resource import ConfigResource, ResourceType
from broker_sim.metadata.metadata_image import NO_LEADER, PartitionRegistration, TopicImage
from broker_sim.quotas.client_quotas_image import CLIENT_ID, IP, USER, ClientQuotaEntity, QuotaChange
from broker_sim.security.scram_image import ScramChange
from broker_sim.topic_partition import TopicPartition
from broker_sim.zookeeper.scram_credentials import credential_of_text, credential_text
from protocol_specs import uuids
from protocol_specs.sasl.scram import ScramMechanism

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.quotas.client_quotas_image import ClientQuotasImage
    from broker_sim.security.scram_image import ScramImage

CLUSTER_ID: Final = "/cluster/id"
CONTROLLER_EPOCH: Final = "/controller_epoch"
TOPICS: Final = "/brokers/topics"
CONFIGS: Final = "/config"
CONSUMERS: Final = "/consumers"
DELETE_TOPICS: Final = "/admin/delete_topics"
REASSIGN_PARTITIONS: Final = "/admin/reassign_partitions"
PREFERRED_ELECTION: Final = "/admin/preferred_replica_election"
PRODUCER_IDS: Final = "/latest_producer_id_block"
DEFAULT_ENTITY: Final = "<default>"
NO_STATE: Final = -1
_QUOTA_FOLDERS: Final = {USER: "users", CLIENT_ID: "clients", IP: "ips"}


class Znode(NamedTuple):
    """The content of a path, and its number of changes."""

    data: str
    version: int = 0


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def topic_znode(topic: TopicImage, *, version: int) -> Znode:
    """The assignment: version 1 has replicas, 2 reassignments too (KIP-455), 3 an id (KIP-516)."""
    partitions = list(enumerate(topic.partitions))
    value: dict[str, Any] = {"version": version}
    if version > 2:
        value["topic_id"] = uuids.to_text(topic.topic_id)
    value["partitions"] = {str(index): list(each.replicas) for index, each in partitions}
    if version > 1:
        value["adding_replicas"] = {
            str(i): list(each.adding_replicas) for i, each in partitions if each.adding_replicas
        }
        value["removing_replicas"] = {
            str(index): list(each.removing_replicas) for index, each in partitions if each.removing_replicas
        }
    return Znode(_json(value))


def state_znode(partition: PartitionRegistration, controller_epoch: int) -> Znode | None:
    """Leader and ISR; None before the first election."""
    if partition.partition_epoch == NO_STATE:
        return None
    value = {
        "controller_epoch": controller_epoch,
        "leader": partition.leader,
        "version": 1,
        "leader_epoch": partition.leader_epoch,
        "isr": list(partition.isr),
    }
    return Znode(_json(value), partition.partition_epoch)


def state_path(topic: str, partition: int) -> str:
    """Return the path of a partition's state."""
    return f"{TOPICS}/{topic}/partitions/{partition}/state"


def consumer_offset_path(group_id: str, partition: TopicPartition) -> str:
    """Return the path of an offset that a group has committed."""
    return f"{CONSUMERS}/{group_id}/offsets/{partition.topic}/{partition.partition}"


def config_znode(configs: Mapping[str, str]) -> Znode:
    """The configurations of one entity."""
    return Znode(_json({"version": 1, "config": dict(configs)}))


def config_znodes(configs: Mapping[ConfigResource, Mapping[str, str]]) -> dict[str, Znode]:
    """Return the configurations of brokers; the name of all of them together is <default>."""
    return {
        f"{CONFIGS}/brokers/{resource.name or DEFAULT_ENTITY}": config_znode(values)
        for resource, values in configs.items()
        if resource.type == ResourceType.BROKER
    }


def entity_znodes(quotas: ClientQuotasImage, scram: ScramImage) -> dict[str, Znode]:
    """The quotas of users, clients and addresses, and the SCRAM credentials of users: an entry per mechanism."""
    configs: dict[str, dict[str, str]] = {}
    for entity, values in quotas.items():
        names = entity.names
        parts = [f"{_QUOTA_FOLDERS[kind]}/{_entity(names[kind])}" for kind in (USER, CLIENT_ID, IP) if kind in names]
        configs["/".join(parts)] = {key: repr(value) for key, value in values.items()}
    for user, mechanism, credential in scram.entries():
        assert credential is not None, "images hold no removals"
        entries = configs.setdefault(f"{_QUOTA_FOLDERS[USER]}/{_entity(user)}", {})
        entries[mechanism.sasl_name] = credential_text(credential)
    return {f"{CONFIGS}/{path}": config_znode(entries) for path, entries in configs.items()}


def partitions_znode(partitions: Mapping[TopicPartition, tuple[int, ...] | None]) -> Znode:
    """A tool's request: partitions, and their target replicas if the request has them."""
    listed: list[dict[str, Any]] = []
    for (topic, index), replicas in partitions.items():
        listed.append({"topic": topic, "partition": index} | ({} if replicas is None else {"replicas": list(replicas)}))
    return Znode(_json({"version": 1, "partitions": listed}))


def read_partitions(znode: Znode) -> dict[TopicPartition, tuple[int, ...]]:
    """Return the partitions that such a request names."""
    return {
        TopicPartition(each["topic"], each["partition"]): tuple(each.get("replicas", ()))
        for each in json.loads(znode.data)["partitions"]
    }


def read_topics(tree: Mapping[str, Znode]) -> tuple[dict[str, TopicImage], dict[TopicPartition, int]]:
    """Every topic, with the empty id where it has none; and the controller epoch of each partition's state."""
    topics: dict[str, TopicImage] = {}
    decided_in: dict[TopicPartition, int] = {}
    for path, znode in tree.items():
        name = path.removeprefix(f"{TOPICS}/")
        if name == path or "/" in name:
            continue
        value = json.loads(znode.data)
        partitions = []
        for index in range(len(value["partitions"])):
            partition = PartitionRegistration(
                replicas=tuple(value["partitions"][str(index)]),
                adding_replicas=tuple(value.get("adding_replicas", {}).get(str(index), ())),
                removing_replicas=tuple(value.get("removing_replicas", {}).get(str(index), ())),
                isr=(),
                leader=NO_LEADER,
                leader_epoch=NO_STATE,
                partition_epoch=NO_STATE,
            )
            state = tree.get(state_path(name, index))
            if state is not None:
                partition, decided_in[TopicPartition(name, index)] = _with_state(partition, state)
            partitions.append(partition)
        topic_id = value.get("topic_id")
        topics[name] = TopicImage(
            name=name,
            topic_id=uuids.ZERO_UUID if topic_id is None else uuids.from_text(topic_id),
            partitions=tuple(partitions),
            configs=_config(tree.get(f"{CONFIGS}/topics/{name}")),
        )
    return topics, decided_in


def _with_state(partition: PartitionRegistration, znode: Znode) -> tuple[PartitionRegistration, int]:
    state = json.loads(znode.data)
    found = replace(
        partition,
        isr=tuple(state["isr"]),
        leader=state["leader"],
        leader_epoch=state["leader_epoch"],
        partition_epoch=znode.version,
    )
    return found, state["controller_epoch"]


def read_configs(tree: Mapping[str, Znode]) -> dict[ConfigResource, Mapping[str, str]]:
    """Return the configurations of brokers."""
    folder = f"{CONFIGS}/brokers/"
    return {
        ConfigResource(ResourceType.BROKER, path[len(folder) :].replace(DEFAULT_ENTITY, "")): _config(znode)
        for path, znode in tree.items()
        if path.startswith(folder)
    }


def read_quotas(tree: Mapping[str, Znode]) -> list[QuotaChange]:
    """The quotas, as changes from none."""
    kinds = {folder: kind for kind, folder in _QUOTA_FOLDERS.items()}
    changes = []
    for path, znode in tree.items():
        parts = path.removeprefix(f"{CONFIGS}/").split("/")
        if not path.startswith(f"{CONFIGS}/") or parts[0] not in kinds:
            continue
        entity = ClientQuotaEntity.of(
            {
                kinds[folder]: None if name == DEFAULT_ENTITY else unquote(name)
                for folder, name in zip(parts[::2], parts[1::2], strict=True)
            }
        )
        changes += [
            QuotaChange(entity=entity, key=key, value=float(value))
            for key, value in _config(znode).items()
            if ScramMechanism.of_name(key) is ScramMechanism.UNKNOWN
        ]
    return changes


def read_credentials(tree: Mapping[str, Znode]) -> list[ScramChange]:
    """The SCRAM credentials, as changes from none."""
    folder = f"{CONFIGS}/{_QUOTA_FOLDERS[USER]}/"
    return [
        ScramChange(unquote(path.removeprefix(folder)), mechanism, credential_of_text(text))
        for path, znode in tree.items()
        if path.startswith(folder) and "/" not in path.removeprefix(folder)
        for name, text in _config(znode).items()
        if (mechanism := ScramMechanism.of_name(name)) is not ScramMechanism.UNKNOWN
    ]


def _config(znode: Znode | None) -> dict[str, str]:
    return {} if znode is None else json.loads(znode.data)["config"]


def _entity(name: str | None) -> str:
    """Escape as Sanitizer does: a name may have characters that a path cannot."""
    return DEFAULT_ENTITY if name is None else quote(name, safe="")
