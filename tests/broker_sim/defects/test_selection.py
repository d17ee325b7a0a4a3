"""Which defects a cluster takes, and what it is made of."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.cluster import Cluster
from broker_sim.defects import DEFECTS
from broker_sim.errors import BrokerSimError
from broker_sim.log.producer_state import ProducerStateManager
from sim_runtime.virtual_disk import VirtualDisk
from sim_runtime.world import World
from tests.broker_sim.defects.stage import ORDERS, Stage

if TYPE_CHECKING:
    from collections.abc import Sequence

DEDUP = "dedup-returns-45"


def cluster(defects: Sequence[Any], **options: Any) -> Cluster:
    world = World(1)
    return Cluster(reactor=world.reactor, streams=world.streams, brokers=2, listen=False, defects=defects, **options)


@pytest.mark.parametrize(
    ("defects", "text"),
    [
        (["dedup-return-45"], "there is no defect 'dedup-return-45'; did you mean 'dedup-returns-45'?"),
        (DEDUP, "is a text; expected a list of names"),
        ([DEDUP, DEDUP], "'dedup-returns-45' is given twice"),
        ([DEDUP, f"1:{DEDUP}"], "'1:dedup-returns-45' is given twice"),
        ([f"3:{DEDUP}"], "'3' is not a broker: they are 1 to 2"),
        ([f"a:{DEDUP}"], "'a' is not a broker: they are 1 to 2"),
    ],
)
def test_other_names_are_refused(defects: Any, text: str) -> None:
    with pytest.raises(BrokerSimError, match="defects: ") as refused:
        cluster(defects)
    assert text in str(refused.value)


def test_a_release_without_the_broken_rule_is_refused() -> None:
    with pytest.raises(
        BrokerSimError, match=r"release 0\.10\.2\.2 lacks the rule that it breaks, which came in 0\.11\.0"
    ):
        cluster([DEDUP], release="0.10.2")


def test_a_defect_of_the_kraft_controller_is_refused_with_zookeeper() -> None:
    of_kraft = replace(DEFECTS[DEDUP], needs_kraft=True)
    with pytest.raises(BrokerSimError, match="it is a bug of KRaft controllers"):
        cluster([of_kraft], release="2.8")


def test_a_release_in_which_a_defect_has_no_effect_is_refused() -> None:
    with pytest.raises(BrokerSimError, match=r"it has no effect since 2\.0, and the release is 2\.0\.1"):
        cluster(["throttled-requests-keep-their-bytes"], release="2.0")


def test_a_defect_without_effect_is_refused() -> None:
    with pytest.raises(BrokerSimError, match=r"it has no effect without thread\.model=pipelined"):
        cluster(["requests-overtake"])
    cluster(["requests-overtake"], config={"thread.model": "pipelined"})


def test_a_defect_is_that_of_one_broker_or_of_all() -> None:
    def has_it(defects: Sequence[str]) -> list[bool]:
        stage = Stage(defects, brokers=2, topics=["orders:1:2"])
        logs = [stage.log(ORDERS, broker_id) for broker_id in (1, 2)]
        stage.close()
        return [type(log.producers) is not ProducerStateManager for log in logs]

    assert has_it([DEDUP]) == [True, True]
    assert has_it([f"2:{DEDUP}"]) == [False, True]
    assert has_it([]) == [False, False]


def test_logs_on_a_disk_have_it_also_after_a_restart() -> None:
    stage = Stage([DEDUP], data_dir="/data", disk=VirtualDisk())
    first = stage.log().producers
    stage.cluster.kill(1)
    stage.world.run_until(stage.cluster.restart(1))
    second = stage.log().producers
    assert first is not second
    assert type(first) is type(second) is not ProducerStateManager


def test_a_cluster_without_defects_imports_none() -> None:
    program = (
        "import sys\n"
        "from broker_sim.cluster import Cluster\n"
        "from sim_runtime.world import World\n"
        "world = World(1)\n"
        "Cluster(reactor=world.reactor, streams=world.streams, listen=False).start()\n"
        "print([name for name in sys.modules if name.startswith('broker_sim.defects')])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=100)
    assert done.stdout == "[]\n"


def test_no_command_turns_a_defect_on() -> None:
    program = (
        "import sys\n"
        "import broker_sim.serve, broker_sim.threaded_cluster, broker_sim.pytest_plugin, broker_sim.__main__\n"
        "print([name for name in sys.modules if name.startswith('broker_sim.defects')])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=100)
    assert done.stdout == "[]\n"
