from __future__ import annotations

import pytest

from broker_scenarios.journal_view import NEVER_US, JournalView
from broker_sim.control.events import TopicCreated, TopicDeleted
from tests.scenarios.conftest import journal_event


def test_the_isr_before_the_first_change_is_known_unless_a_leader_was_elected() -> None:
    change = journal_event("IsrChanged", 5, 1, isr=(1,), previous_isr=(1, 2))
    back = journal_event("IsrChanged", 9, 1, isr=(1, 2), previous_isr=(1,))
    election = journal_event("LeaderElected", 1, 1, previous_leader=-1, leader_epoch=0, isr=(1, 2))
    found = JournalView.of([change, back]).of_partition("orders", 0)
    assert [(each.time_us, each.isr) for each in found.isr_changes] == [(-1, (1, 2)), (5, (1,)), (9, (1, 2))]
    found = JournalView.of([election, change]).of_partition("orders", 0)
    assert [(each.time_us, each.isr) for each in found.isr_changes] == [(1, (1, 2)), (5, (1,))]


@pytest.mark.parametrize(("partition", "shown"), [(None, -1), (0, 0), (3, 3)])
def test_a_rule_that_fired_is_a_mark_of_its_partition(partition: int | None, shown: int) -> None:
    [mark] = JournalView.of([journal_event("RuleFired", 5, 1, rule="r", act="hold", partition=partition)]).marks
    assert (mark.label, mark.partition) == ("rule r: hold", shown)


def test_a_topic_is_deleted_until_it_is_created_again() -> None:
    created = TopicCreated(time_us=9, broker_id=-1, topic="t", topic_id=b"", partitions=1)
    deleted = TopicDeleted(time_us=5, broker_id=-1, topic="t", topic_id=b"")
    assert JournalView.of([created]).deletions == {}
    assert JournalView.of([deleted]).deletions == {"t": [(5, NEVER_US)]}
    assert JournalView.of([created, deleted, created, deleted]).deletions == {"t": [(5, 9), (5, NEVER_US)]}
