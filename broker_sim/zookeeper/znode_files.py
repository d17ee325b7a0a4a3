"""ZooKeeper's persistent znodes in a data directory: a transaction log of lines, one per written znode.

Stands for ZooKeeper's own snapshots and transaction logs, whose format is not modelled. A line is durable before the
response to the write; a start reads all lines, uses the last one of each path, and rewrites the log. Broker ids and
/controller are ephemeral: they end with the cluster, so that the next one has a new controller in a new epoch.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from twisted.logger import Logger

from broker_sim.log.files.errors import CorruptFile
from broker_sim.quotas.client_quotas_image import NO_CLIENT_QUOTAS
from broker_sim.security.scram_image import NO_SCRAM_CREDENTIALS
from broker_sim.topic_partition import TopicPartition
from broker_sim.zookeeper.acl_znodes import ACLS, EXTENDED_ACLS, acl_znodes, read_acls
from broker_sim.zookeeper.token_znodes import TOKENS, read_tokens, token_znodes
from broker_sim.zookeeper.znodes import (
    CLUSTER_ID,
    CONFIGS,
    CONSUMERS,
    CONTROLLER_EPOCH,
    DELETE_TOPICS,
    NO_STATE,
    PREFERRED_ELECTION,
    PRODUCER_IDS,
    REASSIGN_PARTITIONS,
    TOPICS,
    Znode,
    config_znode,
    config_znodes,
    entity_znodes,
    partitions_znode,
    read_configs,
    read_credentials,
    read_partitions,
    read_quotas,
    read_topics,
    state_path,
    state_znode,
    topic_znode,
)
from broker_sim.zookeeper.zookeeper_behaviour import ZooKeeperBehaviour, id_of_name
from protocol_specs.api_key import ApiKey
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from random import Random

    from broker_sim.metadata.metadata_image import MetadataImage, TopicImage
    from broker_sim.zookeeper.ensemble import StoredState, ZooKeeper
    from protocol_specs.releases import Release
    from sim_runtime.disk import Disk, DiskFile

_log = Logger()

TRANSACTIONS_FILE: Final = "znodes.jsonl"
UUID_BYTES: Final = 16
BLOCK_VERSION: Final = 1


class ZnodeFiles:
    """`folder` is the ensemble's directory, `random` draws the ids of topics that an older release has left."""

    def __init__(self, disk: Disk, folder: str, *, release: Release, cluster_id: str, random: Random) -> None:
        self._disk = disk
        self._path = f"{folder}/{TRANSACTIONS_FILE}"
        self._behaviour = ZooKeeperBehaviour.of(release)
        self._topic_version = (
            3 if self._behaviour.topic_ids else 2 if ApiKey.ALTER_PARTITION_REASSIGNMENTS in release.api_versions else 1
        )
        self._random = random
        self._file: DiskFile | None = None
        self._tree: dict[str, Znode] = {CLUSTER_ID: Znode(json.dumps({"version": "1", "id": cluster_id}))}
        self._zxid = 0
        self._seen: MetadataImage | None = None
        self._state: StoredState | None = None
        self.topics: Mapping[str, TopicImage] = {}
        """The content at the start."""

    # Reading.

    def read(self, empty: MetadataImage) -> MetadataImage:
        """Return the state that the last cluster has left; `empty` for a new directory.

        Raises:
            CorruptFile: A line is not a znode of this simulator.
        """
        if not self._disk.is_file(self._path):
            return empty
        self._read_lines(self._disk.read(self._path))
        try:
            topics, _ = read_topics(self._tree)
            self.topics = {name: self._whole(topic) for name, topic in topics.items()}
            image = empty.with_topics(list(self.topics.values()))
            return replace(
                image,
                configs=read_configs(self._tree),
                client_quotas=NO_CLIENT_QUOTAS.with_changes(read_quotas(self._tree)),
                scram=NO_SCRAM_CREDENTIALS.with_changes(read_credentials(self._tree)),
                tokens=read_tokens(self._tree),
            ).with_version(self._zxid)
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptFile(self._path, 0, f"a znode has an unexpected content: {error!r}") from error

    def _read_lines(self, data: bytes) -> None:
        position = 0
        for line in data.splitlines(keepends=True):
            if not line.endswith(b"\n"):
                _log.warn(
                    "zookeeper: truncating log path={path} size={at}: the remainder was never acknowledged",
                    path=self._path,
                    at=position,
                )
                return
            try:
                entry: dict[str, Any] = json.loads(line)
                path, znode = entry["path"], entry["data"]
                self._zxid = max(self._zxid, entry["zxid"])
                if znode is None:
                    self._tree.pop(path, None)
                else:
                    self._tree[path] = Znode(znode, entry["version"])
            except (KeyError, TypeError, ValueError) as error:
                raise CorruptFile(self._path, position, f"no line of a znode: {error!r}") from error
            position += len(line)

    def _whole(self, topic: TopicImage) -> TopicImage:
        """With an id, and with states that a controller would have given at once to partitions that have none."""
        topic_id = topic.topic_id
        if not self._behaviour.topic_ids:
            topic_id = id_of_name(topic.name)
        elif topic_id == ZERO_UUID:
            topic_id = self._random.randbytes(UUID_BYTES)
        partitions = tuple(
            replace(each, isr=each.replicas, leader=each.replicas[0], leader_epoch=NO_STATE)
            if each.partition_epoch == NO_STATE
            else each
            for each in topic.partitions
        )
        return replace(topic, topic_id=topic_id, partitions=partitions)

    def topic_id_of(self, name: str) -> bytes | None:
        """Return the id of a topic whose logs have none; None for an unknown topic."""
        if not self._behaviour.topic_ids:
            return id_of_name(name)
        topic = self.topics.get(name)
        return None if topic is None else topic.topic_id

    def restore(self, zookeeper: ZooKeeper, image: MetadataImage) -> None:
        """Restore the ensemble's state except for topics, which come with the start of the cluster.

        Raises:
            CorruptFile: A znode has an unexpected content.
        """
        if not self._disk.is_file(self._path):
            return
        try:
            epoch = self._tree.get(CONTROLLER_EPOCH)
            block = self._tree.get(PRODUCER_IDS)
            wanted = self._tree.get(REASSIGN_PARTITIONS)
            elections = self._tree.get(PREFERRED_ELECTION)
            zookeeper.restore(
                replace(image, topics={}, topics_by_id={}, brokers={}),
                controller_epoch=0 if epoch is None else int(epoch.data),
                controller_epoch_version=0 if epoch is None else epoch.version,
                deletions=[
                    path.removeprefix(f"{DELETE_TOPICS}/") for path in self._tree if path.startswith(DELETE_TOPICS)
                ],
                reassignments={} if wanted is None else read_partitions(wanted),
                preferred_elections=[] if elections is None else list(read_partitions(elections)),
                next_producer_id=0 if block is None else int(json.loads(block.data)["block_end"]) + 1,
                consumer_offsets={path: self._tree[path] for path in self._tree if path.startswith(f"{CONSUMERS}/")},
                acls=read_acls(self._tree),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptFile(self._path, 0, f"a znode has an unexpected content: {error!r}") from error

    # Writing.

    def follow(self, zookeeper: ZooKeeper) -> None:
        """Replace the old log with one of the present content, then append each change."""
        state = zookeeper.stored_state()
        self._zxid = state.image.version
        self._tree = {CLUSTER_ID: self._tree[CLUSTER_ID]}
        self._tree.update((path, znode) for path, znode in self._changed_znodes(state) if znode is not None)
        self._seen, self._state = state.image, state
        lines = [self._line(path, znode) for path, znode in self._tree.items()]
        self._disk.replace(self._path, b"".join(lines))
        self._file = self._disk.open(self._path)
        zookeeper.changed = lambda: self._write(zookeeper.stored_state())

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _write(self, state: StoredState) -> None:
        self._zxid = max(self._zxid + 1, state.image.version)
        lines = []
        for path, znode in self._changed_znodes(state):
            if znode is None:
                if self._tree.pop(path, None) is not None:
                    lines.append(self._line(path, None))
            elif self._tree.get(path) != znode:
                self._tree[path] = znode
                lines.append(self._line(path, znode))
        self._seen, self._state = state.image, state
        if not lines:
            return
        assert self._file is not None, "what was there was written before"
        try:
            self._file.append(b"".join(lines))
            self._file.sync()
        except OSError as error:
            _log.error("zookeeper: log append failed path={path} error={error}", path=self._path, error=error)

    def _line(self, path: str, znode: Znode | None) -> bytes:
        entry = {"zxid": self._zxid, "path": path, "version": 0, "data": None}
        if znode is not None:
            entry |= {"version": znode.version, "data": znode.data}
        return f"{json.dumps(entry, separators=(',', ':'))}\n".encode()

    # Changes.

    def _changed_znodes(self, state: StoredState) -> list[tuple[str, Any]]:
        """Return the changed paths with their present content, None for a removed path."""
        changes: list[tuple[str, Znode | None]] = []
        before, old = self._seen, self._state
        changes.append((CONTROLLER_EPOCH, Znode(str(state.controller_epoch), state.controller_epoch_version)))
        self._change_topics(changes, None if before is None else before.topics, state)
        image = state.image
        if before is None or image.configs is not before.configs:
            self._change_folder(changes, f"{CONFIGS}/brokers/", config_znodes(image.configs))
        if before is None or (image.client_quotas, image.scram) != (before.client_quotas, before.scram):
            entities = entity_znodes(image.client_quotas, image.scram)
            for folder in ("users", "clients", "ips"):
                found = {path: znode for path, znode in entities.items() if path.startswith(f"{CONFIGS}/{folder}/")}
                self._change_folder(changes, f"{CONFIGS}/{folder}/", found)
        if before is None or image.tokens is not before.tokens:
            self._change_folder(changes, TOKENS, token_znodes(image.tokens))
        if old is None or state.deletions != old.deletions:
            found = {f"{DELETE_TOPICS}/{name}": Znode("") for name in state.deletions}
            self._change_folder(changes, f"{DELETE_TOPICS}/", found)
        wanted = partitions_znode(state.reassignments) if state.reassignments else None
        changes.append((REASSIGN_PARTITIONS, wanted))
        elections = partitions_znode(dict.fromkeys(state.preferred_elections)) if state.preferred_elections else None
        changes.append((PREFERRED_ELECTION, elections))
        if state.next_producer_id:
            changes.append((PRODUCER_IDS, _block(state.next_producer_id)))
        if old is None or state.consumer_offsets != old.consumer_offsets:
            changes += state.consumer_offsets.items()  # none is ever removed
        if old is None or state.acls is not old.acls:
            found = acl_znodes(state.acls)
            for folder in (f"{ACLS}/", f"{EXTENDED_ACLS}/"):
                below = {path: znode for path, znode in found.items() if path.startswith(folder)}
                self._change_folder(changes, folder, below)
        return changes

    def _change_folder(self, changes: list[tuple[str, Znode | None]], folder: str, znodes: Mapping[str, Znode]) -> None:
        changes += [(path, None) for path in self._tree if path.startswith(folder) and path not in znodes]
        changes += znodes.items()

    def _change_topics(
        self, changes: list[tuple[str, Znode | None]], before: Mapping[str, TopicImage] | None, state: StoredState
    ) -> None:
        topics = state.image.topics
        for name, topic in topics.items():
            known = None if before is None else before.get(name)
            if known is not topic:
                changes.append((f"{TOPICS}/{name}", topic_znode(topic, version=self._topic_version)))
                changes.append((f"{CONFIGS}/topics/{name}", config_znode(topic.configs)))
                changes += self._states(topic, known, state.decided_in)
        for name, topic in (before or {}).items():
            if name not in topics:
                changes.append((f"{TOPICS}/{name}", None))
                changes.append((f"{CONFIGS}/topics/{name}", None))
                changes += [(state_path(name, index), None) for index in range(len(topic.partitions))]

    def _states(
        self, topic: TopicImage, known: TopicImage | None, decided_in: Callable[[TopicPartition], int]
    ) -> Iterable[tuple[str, Znode | None]]:
        old = () if known is None else known.partitions
        for index, partition in enumerate(topic.partitions):
            if index >= len(old) or old[index] is not partition:
                epoch = decided_in(TopicPartition(topic.name, index))
                yield state_path(topic.name, index), state_znode(partition, epoch)


def _block(next_producer_id: int) -> Znode:
    """The block that was taken last. Mirrors ProducerIdBlockZNode; ids are texts there."""
    value = {"version": BLOCK_VERSION, "broker": -1, "block_start": "0", "block_end": str(next_producer_id - 1)}
    return Znode(json.dumps(value, separators=(",", ":")))
