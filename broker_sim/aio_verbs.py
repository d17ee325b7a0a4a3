"""The verbs of a ThreadedCluster for tests on asyncio: `await cluster.aio.kill(1)`.

The event loop runs on while a verb waits: the client under test is on it.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from broker_sim.threaded_cluster import ThreadedCluster

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

__all__ = ["AioVerbs"]

P = ParamSpec("P")
T = TypeVar("T")


def _awaitable(
    verb: Callable[Concatenate[ThreadedCluster, P], T],
) -> Callable[Concatenate[AioVerbs, P], Coroutine[Any, Any, T]]:
    @functools.wraps(verb)
    async def call(self: AioVerbs, /, *arguments: P.args, **options: P.kwargs) -> T:
        __tracebackhide__ = True
        return await self.cluster.awaited(verb, *arguments, **options)

    return call


class AioVerbs:
    """The verbs of a cluster under their names, with the same arguments, results and errors."""

    def __init__(self, cluster: ThreadedCluster) -> None:
        self.cluster = cluster

    call = _awaitable(ThreadedCluster.call)
    reset = _awaitable(ThreadedCluster.reset)
    close = _awaitable(ThreadedCluster.close)

    kill = _awaitable(ThreadedCluster.kill)
    pause = _awaitable(ThreadedCluster.pause)
    resume = _awaitable(ThreadedCluster.resume)
    stop = _awaitable(ThreadedCluster.stop)
    restart = _awaitable(ThreadedCluster.restart)
    lose_power = _awaitable(ThreadedCluster.lose_power)
    rolling_restart = _awaitable(ThreadedCluster.rolling_restart)
    upgrade = _awaitable(ThreadedCluster.upgrade)
    finalize = _awaitable(ThreadedCluster.finalize)
    kill_controller = _awaitable(ThreadedCluster.kill_controller)
    restart_controller = _awaitable(ThreadedCluster.restart_controller)

    isolate = _awaitable(ThreadedCluster.isolate)
    rejoin = _awaitable(ThreadedCluster.rejoin)
    hold_link = _awaitable(ThreadedCluster.hold_link)
    release_link = _awaitable(ThreadedCluster.release_link)
    cut_link = _awaitable(ThreadedCluster.cut_link)
    restore_link = _awaitable(ThreadedCluster.restore_link)
    slow_link = _awaitable(ThreadedCluster.slow_link)

    do = _awaitable(ThreadedCluster.do)
    jump_clock = _awaitable(ThreadedCluster.jump_clock)
    drift_clock = _awaitable(ThreadedCluster.drift_clock)
    fail_log_dir = _awaitable(ThreadedCluster.fail_log_dir)
    mend_log_dir = _awaitable(ThreadedCluster.mend_log_dir)
    slow_fsync = _awaitable(ThreadedCluster.slow_fsync)
    create_scram_user = _awaitable(ThreadedCluster.create_scram_user)
    delete_scram_user = _awaitable(ThreadedCluster.delete_scram_user)
    delete_topic = _awaitable(ThreadedCluster.delete_topic)
    recreate_topic = _awaitable(ThreadedCluster.recreate_topic)
    add_partitions = _awaitable(ThreadedCluster.add_partitions)
    alter_config = _awaitable(ThreadedCluster.alter_config)
    elect_leader = _awaitable(ThreadedCluster.elect_leader)
    reassign = _awaitable(ThreadedCluster.reassign)
    delete_records = _awaitable(ThreadedCluster.delete_records)
    delete_group = _awaitable(ThreadedCluster.delete_group)
    force_rebalance = _awaitable(ThreadedCluster.force_rebalance)
    remove_rules = _awaitable(ThreadedCluster.remove_rules)

    create_topic = _awaitable(ThreadedCluster.create_topic)
    leader_of = _awaitable(ThreadedCluster.leader_of)
    records = _awaitable(ThreadedCluster.records)
    log_of = _awaitable(ThreadedCluster.log_of)

    wait_for_leader = _awaitable(ThreadedCluster.wait_for_leader)
    wait_for_controller = _awaitable(ThreadedCluster.wait_for_controller)
    wait_for_isr = _awaitable(ThreadedCluster.wait_for_isr)
    wait_for_rule = _awaitable(ThreadedCluster.wait_for_rule)
    wait_for_records = _awaitable(ThreadedCluster.wait_for_records)
    wait_for_group = _awaitable(ThreadedCluster.wait_for_group)
    wait_for_transaction = _awaitable(ThreadedCluster.wait_for_transaction)
    wait_until_quiet = _awaitable(ThreadedCluster.wait_until_quiet)

    brokers = _awaitable(ThreadedCluster.brokers)
    topics = _awaitable(ThreadedCluster.topics)
    connections = _awaitable(ThreadedCluster.connections)
    groups = _awaitable(ThreadedCluster.groups)
    transactions = _awaitable(ThreadedCluster.transactions)
    metrics = _awaitable(ThreadedCluster.metrics)
    events = _awaitable(ThreadedCluster.events)
    requests = _awaitable(ThreadedCluster.requests)
    report = _awaitable(ThreadedCluster.report)
    write_journal = _awaitable(ThreadedCluster.write_journal)

    add_rule = _awaitable(ThreadedCluster.add_rule)
    respond = _awaitable(ThreadedCluster.respond)
    release_rule = _awaitable(ThreadedCluster.release_rule)
    remove_rule = _awaitable(ThreadedCluster.remove_rule)
    rule_reports = _awaitable(ThreadedCluster.rule_reports)
    rule_problems = _awaitable(ThreadedCluster.rule_problems)
    check_rules = _awaitable(ThreadedCluster.check_rules)
