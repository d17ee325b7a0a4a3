"""What differs between the emulated releases, as named switches: nothing else compares release names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from broker_sim.errors import ConfigError, nearest

DEFAULT_RELEASE: Final = "4.3.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseBehaviour:
    """One release's answers where releases disagree; each switch says what is true when it is set."""

    release: str
    null_produce_records_hang: bool
    """Produce with null records is never answered (else the partition gets -1)."""
    produce_lowest_served: int
    """Produce below this version closes the connection although ApiVersions lists it."""
    list_offsets_special_timestamps_gated: bool
    """ListOffsets -3, -4, -5 need their own versions and other negatives are 35 (else taken as a time)."""
    max_timestamp_offset_is_the_records: bool
    """ListOffsets -3 answers the first record with the largest timestamp (else the last one of its batch)."""
    duplicate_list_offsets_answered_once: bool
    """The same partition twice in ListOffsets gives one entry with 42 (else two)."""
    list_offsets_isolation_always_checked: bool
    """An unknown isolation level in ListOffsets is -1 whoever asks (else for consumers alone)."""
    fetch_endpoints_for_followers: bool
    """The answer to a follower's Fetch has the new leader's endpoint too (KIP-951)."""
    fetch_error_records_null: bool
    """A Fetch that fails as a whole has null records in its partitions (else empty ones)."""
    fetch_gates_zstd_topics: bool
    """A topic whose compression.type is zstd answers 76 to Fetch before v10."""
    min_insync_replicas_is_dynamic_default: bool
    """A new cluster has min.insync.replicas as cluster-wide dynamic configuration (KIP-966)."""
    share_coordinator: bool
    """FindCoordinator knows key type 2 (share) from v6 on."""
    placement_mentions_cordoned_directories: bool
    """The refusal of a replication factor speaks of cordoned log directories too."""
    creation_counts_partitions: bool
    """CreateTopics refuses too many partitions in words of their own, before it counts metadata records."""
    cluster_metadata_creation_is_invalid: bool
    """Creating __cluster_metadata is 42 with a reason (else 29)."""
    reassignment_shrinks_safely: bool
    """A reassignment that takes more replicas than it brings ends when all that stay are in sync (else: all new)."""
    lists_refuse_empty_items: bool
    """A list configuration with an empty item is refused in words of its own."""
    describes_groups: bool
    """DescribeConfigs knows groups (resource type 32) and answers defaults for unknown client metrics names."""
    scala_collections_in_messages: bool
    """Refused configurations are listed as Set(a, b), else as [a, b]; other words are of that time too."""
    unknown_list_is_server_error: bool
    """Appending to a broker configuration that nobody knows is -1 (else refused by name)."""
    knows_cordoned_directories: bool
    """Brokers have cordoned.log.dirs, which must be among their directories."""
    features_change_all_or_nothing: bool
    """UpdateFeatures changes all features or none, and answers one error at the top (else one for each feature)."""
    unregistration_explains: bool
    """UnregisterBroker says which broker is not registered (else its error has no words)."""
    telemetry_is_decompressed: bool
    """PushTelemetry refuses metrics that do not decompress within telemetry.max.bytes (else nobody looks)."""
    telemetry_knows_ports: bool
    """The pattern client_source_port of a client metrics subscription sees the client's port (else nothing)."""
    telemetry_excuses_errors: bool
    """A client whose push was refused for its subscription or codec may ask for its subscriptions at once."""


_RELEASES: Final = {
    "3.7.2": ReleaseBehaviour(
        release="3.7.2",
        null_produce_records_hang=False,
        produce_lowest_served=0,
        list_offsets_special_timestamps_gated=False,
        max_timestamp_offset_is_the_records=False,
        duplicate_list_offsets_answered_once=False,
        list_offsets_isolation_always_checked=False,
        fetch_endpoints_for_followers=True,
        fetch_error_records_null=True,
        fetch_gates_zstd_topics=True,
        min_insync_replicas_is_dynamic_default=False,
        share_coordinator=False,
        placement_mentions_cordoned_directories=False,
        creation_counts_partitions=False,
        cluster_metadata_creation_is_invalid=False,
        reassignment_shrinks_safely=False,
        lists_refuse_empty_items=False,
        describes_groups=False,
        scala_collections_in_messages=True,
        unknown_list_is_server_error=True,
        knows_cordoned_directories=False,
        features_change_all_or_nothing=False,
        unregistration_explains=False,
        telemetry_is_decompressed=False,
        telemetry_knows_ports=False,
        telemetry_excuses_errors=False,
    ),
    "4.3.1": ReleaseBehaviour(
        release="4.3.1",
        null_produce_records_hang=True,
        produce_lowest_served=3,
        list_offsets_special_timestamps_gated=True,
        max_timestamp_offset_is_the_records=True,
        duplicate_list_offsets_answered_once=True,
        list_offsets_isolation_always_checked=True,
        fetch_endpoints_for_followers=False,
        fetch_error_records_null=False,
        fetch_gates_zstd_topics=False,
        min_insync_replicas_is_dynamic_default=True,
        share_coordinator=True,
        placement_mentions_cordoned_directories=True,
        creation_counts_partitions=True,
        cluster_metadata_creation_is_invalid=True,
        reassignment_shrinks_safely=True,
        lists_refuse_empty_items=True,
        describes_groups=True,
        scala_collections_in_messages=False,
        unknown_list_is_server_error=False,
        knows_cordoned_directories=True,
        features_change_all_or_nothing=True,
        unregistration_explains=True,
        telemetry_is_decompressed=True,
        telemetry_knows_ports=True,
        telemetry_excuses_errors=True,
    ),
}


def behaviour_of(release: str) -> ReleaseBehaviour:
    """The switches of a release, named in full (4.3.1) or by its minor (4.3); ConfigError for any other."""
    for name, behaviour in _RELEASES.items():
        if release in {name, name.rpartition(".")[0]}:
            return behaviour
    known = ", ".join(_RELEASES)
    msg = f"release {release!r} is not emulated: known are {known}{nearest(release, _RELEASES)}"
    raise ConfigError(msg)
