from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.argument_checks import WrongArgument
from broker_sim.errors import BrokerSimError
from broker_sim.virtual_cluster import VirtualCluster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def cluster() -> Iterator[VirtualCluster]:
    with VirtualCluster(brokers=2, topics=["orders:1:2"]) as running:
        yield running


@pytest.mark.parametrize(
    ("verb", "arguments", "problem"),
    [
        ("jump_clock", (1, "x"), "jump_clock: ms='x': expected a finite number"),
        ("jump_clock", (1, math.nan), "jump_clock: ms=nan: expected a finite number"),
        ("kill", ([1],), "kill: broker_id=[1]: expected a whole number"),
        ("kill", (True,), "kill: broker_id=True: expected a whole number"),
        ("restart", (1.5,), "restart: broker_id=1.5: expected a whole number"),
        ("records", (b"orders",), "records: topic=b'orders': expected a text"),
        ("records", ("orders", "0"), "records: partition='0': expected a whole number or None"),
        ("reassign", ("orders", 0, "12"), "reassign: replicas='12': expected a list of whole numbers"),
        ("reassign", ("orders", 0, [1, "2"]), "reassign: replicas=[1, '2']: expected a list of whole numbers"),
        ("alter_config", (["retention.ms"],), "alter_config: config=['retention.ms']: expected a mapping"),
        ("wait_for_group", ("g", None), "wait_for_group: state=None: expected a text"),
        ("write_journal", ("a" * 99,), f"write_journal: path='{'a' * 59}...: expected a pathlib.Path"),
    ],
)
def test_an_argument_of_a_wrong_type_is_named(
    cluster: VirtualCluster, verb: str, arguments: tuple[Any, ...], problem: str
) -> None:
    with pytest.raises(WrongArgument) as refused:
        getattr(cluster, verb)(*arguments)
    assert str(refused.value) == problem
    assert isinstance(refused.value, BrokerSimError)
    assert isinstance(refused.value, TypeError)


def test_an_argument_in_a_keyword_is_named_too(cluster: VirtualCluster) -> None:
    with pytest.raises(WrongArgument, match=r"^elect_leader: unclean='yes': expected True or False$"):
        cluster.elect_leader("orders", unclean="yes")  # type: ignore[arg-type]


def test_a_verb_that_is_awaited_checks_its_arguments(cluster: VirtualCluster) -> None:
    async def awaited() -> None:
        await cluster.awaited(VirtualCluster.jump_clock, 1, "x")

    with pytest.raises(WrongArgument, match=r"^jump_clock: ms='x'"):
        asyncio.run(awaited())


def test_values_that_a_verb_itself_checks_are_named(cluster: VirtualCluster) -> None:
    with pytest.raises(BrokerSimError, match=r"^quiet_ms: -1 is negative"):
        cluster.wait_until_quiet(-1)
    with pytest.raises(BrokerSimError, match=r"^iterations: 0 is not positive"):
        cluster.create_scram_user("user", "password", iterations=0)
    with pytest.raises(BrokerSimError, match=r"^timeout_s: inf is no time"):
        VirtualCluster(timeout_s=math.inf)


def test_a_right_argument_reaches_its_verb(cluster: VirtualCluster, tmp_path: Path) -> None:
    cluster.jump_clock(1, 5)
    cluster.jump_clock(broker_id=1, ms=-5.0)
    cluster.write_journal(tmp_path / "journal.jsonl")
    assert cluster.wait_for_isr("orders", brokers={1, 2}) == (1, 2)
