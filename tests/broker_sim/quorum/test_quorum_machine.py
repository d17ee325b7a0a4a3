"""With lost, late and reordered packets, kills and restarts: one leader per epoch, and committed records stay.

The invariants are checked by the quorum after every step of every voter; see conftest.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from broker_sim.quorum.epoch_states import EpochState
from tests.broker_sim.quorum.conftest import QuorumOnATable

VOTERS = (1, 2, 3, 4, 5)
HEALED_WITHIN_MS = 60_000

voters = st.sampled_from(VOTERS)


class QuorumMachine(RuleBasedStateMachine):
    """Three or five voters."""

    release = "4.3.1"

    @initialize(
        seed=st.integers(0, 1_000), count=st.sampled_from([3, 3, 5]), delay_ms=st.sampled_from([0.5, 5.0, 60.0])
    )
    def start(self, seed: int, count: int, delay_ms: float) -> None:
        self.quorum = QuorumOnATable(voters=count, release=self.release, seed=seed, delay_ms=delay_ms)
        self.next_value = 0
        self.end_offsets: dict[int, int] = {}

    def voter(self, wanted: int) -> int:
        return self.quorum.voters[(wanted - 1) % len(self.quorum.voters)]

    @rule(ms=st.sampled_from([1, 20, 100, 700, 2_500]))
    def pass_time(self, ms: int) -> None:
        self.quorum.run(ms)

    @rule()
    def elect(self) -> None:
        self.quorum.run(6_000)

    @rule(wanted=voters)
    def append(self, wanted: int) -> None:
        """Send a request to every voter that leads as far as it knows."""
        leaders = [voter for voter, each in self.quorum.replicas.items() if each.state is EpochState.LEADER]
        if leaders:
            self.next_value += 1
            self.quorum.append(leaders[wanted % len(leaders)], self.next_value)

    @precondition(lambda self: self.quorum.packets)
    @rule(data=st.data())
    def drop(self, data: Any) -> None:
        self.quorum.drop(self.quorum.packets[data.draw(st.integers(0, len(self.quorum.packets) - 1))])

    @precondition(lambda self: self.quorum.packets)
    @rule(data=st.data())
    def overtake(self, data: Any) -> None:
        self.quorum.deliver(self.quorum.packets[data.draw(st.integers(0, len(self.quorum.packets) - 1))])

    @precondition(lambda self: self.quorum.packets)
    @rule(data=st.data(), ms=st.sampled_from([50, 1_500, 5_000]))
    def delay(self, data: Any, ms: int) -> None:
        self.quorum.packets[data.draw(st.integers(0, len(self.quorum.packets) - 1))].due_ms += ms

    @rule(first=voters, second=voters)
    def cut(self, first: int, second: int) -> None:
        if self.voter(first) != self.voter(second):
            self.quorum.cut(self.voter(first), self.voter(second))

    @rule(wanted=voters)
    def isolate(self, wanted: int) -> None:
        self.quorum.isolate(self.voter(wanted))

    @rule()
    def heal(self) -> None:
        self.quorum.heal()

    @rule(wanted=voters)
    def kill(self, wanted: int) -> None:
        self.quorum.kill(self.voter(wanted))

    @rule(wanted=voters)
    def restart(self, wanted: int) -> None:
        self.quorum.kill(self.voter(wanted))
        self.quorum.start(self.voter(wanted))

    @rule(wanted=voters)
    def resign(self, wanted: int) -> None:
        if self.voter(wanted) in self.quorum.replicas:
            self.quorum.resign(self.voter(wanted))

    @invariant()
    def logs_are_equal_up_to_the_lower_high_watermark(self) -> None:
        replicas = list(self.quorum.replicas.values())
        for first, second in pairwise(replicas):
            bound = min(first.high_watermark, second.high_watermark)
            mine = [batch for batch in first.log.batches if batch.last_offset < bound]
            theirs = [batch for batch in second.log.batches if batch.last_offset < bound]
            assert mine == theirs

    def teardown(self) -> None:
        if not hasattr(self, "quorum"):
            return
        quorum = self.quorum
        quorum.heal()
        for voter in quorum.voters:
            if voter not in quorum.replicas:
                quorum.start(voter)
        leader = quorum.elect(within_ms=HEALED_WITHIN_MS)
        quorum.append(leader, "at the end")
        quorum.run_until(
            lambda: all("at the end" in quorum.contents(voter) for voter in quorum.voters) or self.again(),
            within_ms=HEALED_WITHIN_MS,
        )
        contents = [quorum.contents(voter) for voter in quorum.voters]
        assert all(each == contents[0] for each in contents)
        committed = [content for _, content in quorum.ever_committed.values() if isinstance(content, int)]
        assert [content for content in contents[0] if isinstance(content, int)] == committed
        assert len(set(committed)) == len(committed)

    def again(self) -> bool:
        """Retry at the next leader: the records of an elected leader may be lost with its epoch."""
        leader = self.quorum.leader
        if leader is not None:
            replica = self.quorum.replicas[leader]
            contents = [batch.content for batch in (*replica.log.batches, *replica._core.accumulated)]
            if "at the end" not in contents:
                self.quorum.append(leader, "at the end")
        return False


class OldQuorumMachine(QuorumMachine):
    """Without pre-votes."""

    release = "3.7.2"


@pytest.mark.parametrize("machine", [QuorumMachine, OldQuorumMachine])
def test_a_quorum_never_loses_what_it_has_committed_and_always_heals(machine: type[QuorumMachine]) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=40,
            stateful_step_count=40,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
