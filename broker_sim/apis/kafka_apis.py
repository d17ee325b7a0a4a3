"""The APIs of one broker: the table of its handlers, and the state that they keep between requests. Mirrors KafkaApis.

`HANDLERS` is the table: an API that `protocol_specs.api_key` marks as served by brokers is in the file of its name in
this folder. One that brokers only forward to the controller (KIP-590) needs no file.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import HandlerTable
from broker_sim.apis.client_metrics import ClientMetricsManager
from broker_sim.apis.fetch_sessions import FetchSessionCache
from broker_sim.apis.forwarding import forwarding_handler
from broker_sim.apis.node_apis import NodeApis
from broker_sim.config.simulator_configs import TELEMETRY_RECEIVER
from protocol_specs import releases
from protocol_specs.api_key import ApiKey, Served
from protocol_specs.messages.init_producer_id import InitProducerIdRequest
from protocol_specs.version_range import VersionRange

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.apis.api_versions import TailKey
    from broker_sim.apis.authorization.rule import AuthorizedHandlers
    from broker_sim.apis.broker_view import BrokerView
    from broker_sim.security.authorizer import Authorizer

__all__ = ["HANDLERS", "KafkaApis"]

HANDLERS: Final = HandlerTable("broker_sim.apis", served=Served.BROKER, default=forwarding_handler)
UNSTABLE_VERSIONS: Final = "unstable.api.versions.enable"
UNLISTED: Final = {key: range(1) for key in HANDLERS.served if key.facts.needs_telemetry_receiver}
"""APIs that 4.x serves without listing them: telemetry is listed only where a receiver is configured (KIP-714)."""


class KafkaApis(NodeApis):
    """One broker's APIs, for one run of it."""

    def __init__(self, broker: BrokerView) -> None:
        behaviour = broker.config.behaviour
        unstable = bool(broker.config.values.get(UNSTABLE_VERSIONS))
        advertised, enabled, response_tails = _versions(
            broker.release.name,
            broker.release.mode,
            lowest_produce=behaviour.produce_lowest_served,
            telemetry_unlisted=behaviour.telemetry_served_unlisted,
            telemetry_received=bool(broker.config[TELEMETRY_RECEIVER]),
            two_phase_commits=unstable and behaviour.two_phase_commits_are_unstable,
        )
        super().__init__(
            handlers=HANDLERS
            if broker.authorizer is None
            else _authorized(broker.authorizer, zookeeper=behaviour.zookeeper),
            advertised=advertised,
            enabled=enabled,
            features=broker.release.listeners["broker"].features,
        )
        self.api_versions_tails = response_tails
        self.client_metrics = ClientMetricsManager(config=broker.config, random=broker.random("client metrics"))
        self.fetch_sessions = FetchSessionCache(
            slots=broker.config.max_incremental_fetch_session_cache_slots,
            random=broker.random("fetch sessions"),
            shards=behaviour.fetch_session_shards,
            zero_ids_fail=behaviour.fetch_session_zero_ids_fail,
        )


def _authorized(authorizer: Authorizer, *, zookeeper: bool) -> AuthorizedHandlers:
    """Return the handlers of a broker with an authorizer; the rules are imported with the first."""
    from broker_sim.apis.authorization.rule import AuthorizedHandlers

    if zookeeper:
        from broker_sim.apis.authorization.zookeeper_rules import ZOOKEEPER_RULES

        return AuthorizedHandlers(HANDLERS, ZOOKEEPER_RULES, authorizer)
    from broker_sim.apis.authorization.broker_rules import BROKER_RULES

    return AuthorizedHandlers(HANDLERS, BROKER_RULES, authorizer)


@cache
def _versions(
    release: str,
    mode: releases.Mode,
    *,
    lowest_produce: int,
    telemetry_unlisted: bool,
    telemetry_received: bool,
    two_phase_commits: bool,
) -> tuple[Mapping[ApiKey, VersionRange], Mapping[ApiKey, range], dict[TailKey, bytes]]:
    """Return the versions that all brokers of a kind list, those that they serve, and their ApiVersions responses."""
    versions = releases.get(release, mode).api_versions
    advertised = {key: versions[key] for key in HANDLERS.served if key in versions}
    if telemetry_received and telemetry_unlisted:
        telemetry = {key: VersionRange(served[0], served[-1]) for key, served in UNLISTED.items()}
        advertised = dict(sorted({**advertised, **telemetry}.items()))
    if two_phase_commits:
        stable = advertised[ApiKey.INIT_PRODUCER_ID]
        advertised[ApiKey.INIT_PRODUCER_ID] = VersionRange(stable.lowest, InitProducerIdRequest.UNSTABLE.highest)
    enabled = {
        # 4.x lists more versions of Produce than it accepts.
        key: range(max(item.lowest, lowest_produce if key is ApiKey.PRODUCE else 0), item.highest + 1)
        for key, item in advertised.items()
    }
    return advertised, enabled | (UNLISTED if telemetry_unlisted else {}), {}
