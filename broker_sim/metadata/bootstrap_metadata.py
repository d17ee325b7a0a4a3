"""The first records of a new cluster's log: features, users and configurations. Mirrors BootstrapMetadata and
ActivationRecordsGenerator: one metadata transaction where metadata.version knows them (KIP-868).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from broker_sim.config.config_resource import CLUSTER_DEFAULT, ConfigRecord, ConfigResource, ResourceType
from broker_sim.errors import BrokerSimError, nearest
from broker_sim.metadata.metadata_log import RECORDS_BETWEEN_SNAPSHOTS_MAX, MetadataLogLimits
from broker_sim.metadata.metadata_record_versions import IBP_3_4_IV0, record_versions
from broker_sim.metadata.metadata_records import METADATA_VERSION, MetadataRecord, credential_record, records_of_change
from broker_sim.security.scram_arguments import parse_scram_argument
from protocol_specs import releases
from protocol_specs.schemas.metadata.begin_transaction_record import BeginTransactionRecord
from protocol_specs.schemas.metadata.end_transaction_record import EndTransactionRecord
from protocol_specs.schemas.metadata.zk_migration_state_record import ZkMigrationStateRecord

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.metadata.metadata_image import MetadataImage
    from broker_sim.security.scram_image import ScramChange

__all__ = ["StorageFormat", "bootstrap_records", "check_features", "metadata_log_limits"]

OF_THE_RELEASE: Final = (METADATA_VERSION, "kraft.version")
"""Features whose levels are those of the release."""
LAST_WITH_MIGRATION: Final = "3."
"""4.0 has no ZooKeeper any more, and no state of a migration."""
BYTES_BETWEEN_SNAPSHOTS: Final = "metadata.log.max.record.bytes.between.snapshots"
BYTES_BETWEEN_SNAPSHOTS_DEFAULT: Final = 20 * 1024 * 1024


class StorageFormat:
    """The metadata that a new cluster begins with. Mirrors Formatter, of `kafka-storage format`.

    `features` are the levels that differ from those of the release; 0 is a feature that is not finalized.
    """

    def __init__(self, features: Mapping[str, int], config: BrokerConfig) -> None:
        """Raises BrokerSimError as `check_features` does."""
        self.features = check_features(features, config.release)
        self.credentials: list[ScramChange] = []
        """The SCRAM credentials, in the order of their arguments."""
        self._config = config

    def add_scram(self, argument: str, random: Random) -> None:
        """Add a user, as `--add-scram` does: `SCRAM-SHA-256=[name=alice,password=secret]`; `random` draws the salt.

        Raises:
            BrokerSimError: the argument is invalid, or the release has no SCRAM credentials.
        """
        behaviour = self._config.behaviour
        level = releases.get(self._config.release).finalized_features.get(METADATA_VERSION)
        if not behaviour.zookeeper and (level is None or not record_versions(level.highest).has_scram):
            raise BrokerSimError(
                f"--add-scram {argument}: SCRAM is only supported in metadata.version 3.5-IV2 or later."
            )
        self.credentials.append(parse_scram_argument(argument, random))


def check_features(features: Mapping[str, int], release: str) -> Mapping[str, int]:
    """Return the levels that are given for the features of a new cluster, when they are checked.

    Raises:
        BrokerSimError: the release does not have a feature, or not this level of it.
    """
    supported = releases.get(release).supported_features
    settable = {name: levels.highest for name, levels in supported.items() if name not in OF_THE_RELEASE}
    for name, level in features.items():
        if name not in settable:
            hint = nearest(name, settable)
            raise BrokerSimError(f"features: release {release} has no feature {name!r} that can be set{hint}")
        if not 0 <= level <= settable[name]:
            raise BrokerSimError(f"features: {name} is 0 to {settable[name]} in release {release}, not {level}")
    return features


def bootstrap_records(
    empty: MetadataImage, config: BrokerConfig, storage: StorageFormat
) -> tuple[list[MetadataRecord], MetadataImage]:
    """The first batch after the leader's own, and the image after it."""
    levels = {name: level.highest for name, level in releases.get(config.release).finalized_features.items()}
    image = empty.with_finalized_features(
        {name: level for name, level in {**levels, **storage.features}.items() if level}
    )
    image = image.with_configs(_initial_configs(config))
    metadata_version = image.finalized_features.get(METADATA_VERSION, 0)
    # There are no ELRs yet: min.insync.replicas is written without ClearElrRecord.
    records = [each for each in records_of_change(empty, image) if type(each.message).__name__ != "ClearElrRecord"]
    levels_written = sum(type(each.message).__name__ == "FeatureLevelRecord" for each in records)
    if metadata_version >= IBP_3_4_IV0 and config.release.startswith(LAST_WITH_MIGRATION):
        records.insert(levels_written, MetadataRecord(ZkMigrationStateRecord(zk_migration_state=0), 0))
    records[levels_written:levels_written] = map(credential_record, storage.credentials)
    image = replace(image, scram=image.scram.with_changes(storage.credentials))
    if record_versions(metadata_version).has_transactions:
        records.insert(0, MetadataRecord(BeginTransactionRecord(name="Bootstrap records"), 0))
        records.append(MetadataRecord(EndTransactionRecord(), 0))
    return records, image


def _initial_configs(config: BrokerConfig) -> list[ConfigRecord]:
    """Return `min.insync.replicas` as the default of all brokers, for a release with ELRs (KIP-966)."""
    if not config.behaviour.min_insync_replicas_is_dynamic_default:
        return []
    resource = ConfigResource(ResourceType.BROKER, CLUSTER_DEFAULT)
    return [ConfigRecord(resource=resource, name="min.insync.replicas", value=str(config.min_insync_replicas))]


def metadata_log_limits(config: BrokerConfig) -> MetadataLogLimits:
    """Return the limits of the log, from metadata.log.max.* and metadata.max.idle.interval.ms."""
    size = config.values.get(BYTES_BETWEEN_SNAPSHOTS, BYTES_BETWEEN_SNAPSHOTS_DEFAULT)
    snapshot_interval_ms = config.values.get("metadata.log.max.snapshot.interval.ms", 0)
    idle_interval_ms = config.values.get("metadata.max.idle.interval.ms", 0)
    assert isinstance(size, int)
    assert isinstance(snapshot_interval_ms, int)
    assert isinstance(idle_interval_ms, int)
    return MetadataLogLimits(
        records_between_snapshots=RECORDS_BETWEEN_SNAPSHOTS_MAX,
        bytes_between_snapshots=None if size == BYTES_BETWEEN_SNAPSHOTS_DEFAULT else size,
        snapshot_interval_ms=snapshot_interval_ms,
        idle_interval_ms=idle_interval_ms,
    )
