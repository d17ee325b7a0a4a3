from __future__ import annotations

from types import SimpleNamespace

from broker_sim.faults.interception import Outcome
from broker_sim.faults.node_crash import crash
from tests.broker_sim.faults.firings import Scheduled


def test_the_request_is_held_until_the_process_has_ended() -> None:
    ended: list[int] = []
    restarted: list[int] = []
    scheduled = Scheduled(
        ends=True, cluster=SimpleNamespace(restart=restarted.append), point=SimpleNamespace(broker_id=2)
    )
    interception = crash(scheduled.firing, 2, ended.append)
    assert interception is not None
    assert interception.wait is not None
    assert interception.outcome is Outcome.DISCONNECT
    assert (ended, scheduled.victims, interception.wait.called) == ([], [], False)
    scheduled.soon.pop()()
    assert (ended, scheduled.victims, interception.wait.called) == ([2], [2], True)
    assert restarted == []
    scheduled.at_end.pop()()
    assert restarted == [2]


def test_without_a_request_and_an_until_the_node_stays_down() -> None:
    ended: list[int] = []
    scheduled = Scheduled(ends=False)
    assert crash(scheduled.firing, 2, ended.append) is None
    scheduled.soon.pop()()
    assert (ended, scheduled.at_end) == ([2], [])


def test_a_request_to_another_node_goes_on_after_the_crash() -> None:
    scheduled = Scheduled(ends=False, point=SimpleNamespace(broker_id=1))
    interception = crash(scheduled.firing, 2, lambda _: None)
    assert interception is not None
    assert interception.outcome is Outcome.PROCEED
    scheduled.soon.pop()()
    assert interception.wait is not None
    assert interception.wait.called
