"""The work that an active controller does by itself, at intervals. Mirrors the periodic tasks of QuorumController."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.security.delegation_token import CHECK_INTERVAL, secret_of
from sim_runtime.repeating_call import RepeatingCall

if TYPE_CHECKING:
    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.controller.controller import Controller
    from sim_runtime.interfaces import IReactor

__all__ = ["PeriodicTasks"]

REBALANCE_INTERVAL = "leader.imbalance.check.interval.seconds"
UNCLEAN_INTERVAL = "unclean.leader.election.interval.ms"


class PeriodicTasks:
    """Leaders that go back to preferred replicas, unclean elections, and delegation tokens that expire."""

    __slots__ = ("_rebalance", "_tokens", "_unclean_elections")

    def __init__(self, reactor: IReactor, controller: Controller, config: BrokerConfig) -> None:
        interval_s = config[REBALANCE_INTERVAL]
        assert isinstance(interval_s, int)
        self._rebalance = RepeatingCall(reactor, interval_s * 1000, controller.elect_preferred_leaders)
        self._unclean_elections = RepeatingCall(
            reactor, _interval_ms(config, UNCLEAN_INTERVAL), controller.elect_unclean_leaders
        )

        def remove_expired_tokens() -> None:
            controller.controls.tokens.remove_expired()

        self._tokens = RepeatingCall(reactor, _interval_ms(config, CHECK_INTERVAL), remove_expired_tokens)

    def start(self, config: BrokerConfig) -> None:
        """Start the tasks that the configuration enables; releases without an interval have no such task."""
        if config.auto_leader_rebalance_enable:
            self._rebalance.start()
        if config.values.get(UNCLEAN_INTERVAL, 0):
            self._unclean_elections.start()
        if secret_of(config):
            self._tokens.start()

    def stop(self) -> None:
        """Stop all tasks; they may be started again."""
        self._rebalance.stop()
        self._unclean_elections.stop()
        self._tokens.stop()


def _interval_ms(config: BrokerConfig, name: str) -> int:
    interval_ms = config.values.get(name, 0)
    assert isinstance(interval_ms, int)
    return max(interval_ms, 1)
