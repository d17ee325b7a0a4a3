"""Upgrades: brokers restart as another release, one after the other, and then the new features are finalized.

As an operator of KRaft does (KIP-584, KIP-778): a broker of another release joins if it supports every finalized level;
brokers use among themselves the versions of the finalized metadata.version, until `kafka-features upgrade` raises it.
The releases of one line can be mixed: KRaft from 3.3 to 3.9. The one controller belongs to the first broker, as with
process.roles=broker,controller, and has its release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from twisted.internet.defer import Deferred

from broker_sim.errors import BrokerSimError
from broker_sim.links.node_links import CONTROLLER_ID
from broker_sim.metadata.metadata_records import METADATA_VERSION
from broker_sim.rolling_restart import wait_until_in_sync
from protocol_specs import releases
from protocol_specs.errors import UnknownRelease
from protocol_specs.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.cluster import Cluster
    from protocol_specs.releases import Release

__all__ = ["check_upgrade", "finalize", "rolling_upgrade"]

_LINE: Final = ((3, 3), (3, 9))
"""The first and the last minor release of the line."""
_UPGRADE: Final = 1
_SAFE_DOWNGRADE: Final = 2


def check_upgrade(cluster: Cluster, to: str, broker_ids: Sequence[int]) -> Release:
    """Return the release that these brokers can restart as.

    Raises:
        BrokerSimError: it is unknown, the pair of releases is not simulated, or Kafka's controller would refuse it.
    """
    try:
        target = releases.get(to)
    except UnknownRelease as error:
        raise BrokerSimError(f"upgrade: {error}") from None
    for broker_id in broker_ids:
        problem = pair_problem(cluster.broker(broker_id).release, target)
        if problem is not None:
            raise BrokerSimError(f"upgrade: broker {broker_id} {problem}")
    if cluster.controller_ids:
        raise BrokerSimError(
            f"upgrade: the controllers {cluster.controller_ids} keep their release: it needs `controllers: 1`"
        )
    for name, level in cluster.controller.committed_image.finalized_features.items():
        supported = target.supported_features.get(name)
        if supported is None or level not in supported:
            known = "does not have it" if supported is None else f"supports {supported.lowest} to {supported.highest}"
            raise BrokerSimError(f"upgrade: {name} is finalized at {level}, and release {target.name} {known}")
    return target


def pair_problem(old: Release, target: Release) -> str | None:
    """Return why no broker of release `old` can restart as `target`, None if it can."""
    if _is_in_line(old) and _is_in_line(target):
        return None
    return (
        f"cannot restart as {target.name} after {old.name} ({old.mode.value}): "
        "releases are mixed within KRaft from 3.3 to 3.9"
    )


def _is_in_line(release: Release) -> bool:
    first, last = _LINE
    return release.mode is releases.Mode.KRAFT and first <= release.version[:2] <= last


def rolling_upgrade(cluster: Cluster, to: str, broker_ids: Sequence[int] | None = None) -> Deferred[None]:
    """Restart these brokers (by default all, by id) as a release, each when the one before is in sync again.

    Raises:
        BrokerSimError: as `check_upgrade`; no broker was stopped then.
    """
    ids = list(cluster.brokers) if broker_ids is None else list(broker_ids)
    check_upgrade(cluster, to, ids)
    return Deferred.fromCoroutine(_roll(cluster, to, ids))


async def _roll(cluster: Cluster, to: str, broker_ids: Sequence[int]) -> None:
    for broker_id in broker_ids:
        release = check_upgrade(cluster, to, [broker_id])
        broker = cluster.broker(broker_id)
        await cluster.stop(broker_id)
        broker.use_release(release.name)
        server = cluster.controller_server(broker_id)
        server.use_release()
        if broker_id == min(cluster.brokers):
            cluster.controller.use_release(broker.config, cluster.streams)
            cluster.links.attach(CONTROLLER_ID, server.link_transport)
        await broker.start()
        await wait_until_in_sync(cluster, broker_id)


def finalize(cluster: Cluster, to: str) -> Deferred[None]:
    """Set every feature to the level of a new cluster of a release, as `kafka-features upgrade --release-version` does.

    The Deferred fails with BrokerSimError where the controller refuses it.

    Raises:
        BrokerSimError: there is no such release, it has no features, or no broker is running.
    """
    try:
        target = releases.get(to)
    except UnknownRelease as error:
        raise BrokerSimError(f"finalize: {error}") from None
    if METADATA_VERSION not in target.finalized_features:
        raise BrokerSimError(f"finalize: release {target.name} has no finalized features")
    finalized = cluster.controller.committed_image.finalized_features
    updates = [
        FeatureUpdateKey(
            feature=name,
            max_version_level=level.highest,
            upgrade_type=_SAFE_DOWNGRADE if level.highest < finalized.get(name, 0) else _UPGRADE,
        )
        for name, level in target.finalized_features.items()
    ]
    return cluster.admin.update_features(UpdateFeaturesRequest(feature_updates=updates))
