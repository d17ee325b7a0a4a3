from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.control.events import LeaderElected, RequestReceived, RuleFired, TopicCreated
from broker_sim.control.journal import EVENT_KINDS, Journal
from broker_sim.control.journal_file import JournalFileError, JournalWriter, read_journal

if TYPE_CHECKING:
    from pathlib import Path

    from broker_sim.control.events import Event

SAMPLES: dict[str, Any] = {
    "int": 7,
    "float": 0.5,
    "str": "text é",
    "bytes": b"\x00\xff",
    "bool": True,
    "str | None": None,
    "int | None": 3,
    "tuple[int, ...]": (1, 2),
    "tuple[str, ...]": ("a-0",),
    "Sequence[RemovedBatch]": (),
}


def some(kind: type[Event]) -> Event:
    return kind(**{field.name: SAMPLES[str(field.type)] for field in fields(kind)})


def created(journal: Journal) -> None:
    journal.append(TopicCreated(time_us=1, broker_id=-1, topic="t", topic_id=b"\x01" * 16, partitions=3))


def test_every_kind_of_event_is_read_as_it_was_written(tmp_path: Path) -> None:
    journal = Journal(lambda: 0)
    created(journal)
    writer = JournalWriter(tmp_path / "journal.jsonl", journal)
    for kind in EVENT_KINDS.values():
        journal.append(some(kind))
    writer.close()
    created(journal)
    assert list(read_journal(tmp_path / "journal.jsonl")) == list(journal.numbered())[:-1]


def test_events_are_in_order_when_a_subscriber_causes_others(tmp_path: Path) -> None:
    journal = Journal(lambda: 0)

    def fire(event: Event) -> None:
        if isinstance(event, LeaderElected):
            journal.append(some(RuleFired))

    journal.subscribe(fire)
    writer = JournalWriter(tmp_path / "journal.jsonl", journal)
    journal.append(some(LeaderElected))
    writer.close()
    assert [(number, event.kind) for number, event in read_journal(tmp_path / "journal.jsonl")] == [
        (1, "LeaderElected"),
        (2, "RuleFired"),
    ]


def test_what_has_happened_is_in_the_file_before_it_is_closed(tmp_path: Path) -> None:
    journal = Journal(lambda: 0)
    writer = JournalWriter(tmp_path / "journal.jsonl", journal)
    journal.append(some(RequestReceived))
    assert [number for number, _ in read_journal(tmp_path / "journal.jsonl")] == [1]
    writer.close()


def test_a_line_that_was_not_finished_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal(lambda: 0)
    writer = JournalWriter(path, journal)
    journal.append(some(RequestReceived))
    journal.append(some(RequestReceived))
    writer.close()
    path.write_text(path.read_text()[:-10])
    assert [number for number, _ in read_journal(path)] == [1]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("no json", "line 1: no JSON, Expecting value"),
        ("[]", "line 1: an event has a sequence and a kind"),
        ('{"kind": "RuleFired"}', "line 1: an event has a sequence and a kind"),
        ('{"sequence": 1, "kind": "RuleFird"}', "unknown kind of event 'RuleFird'; did you mean 'RuleFired'?"),
        ('{"sequence": 1, "kind": "BrokerKilled", "time_us": 1, "broker_id": 1, "colour": 2}', "colour"),
        ('{"sequence": 1, "kind": "TopicDeleted", "topic": "t", "topic_id": "xy"}', "topic_id: non-hexadecimal"),
    ],
)
def test_what_is_no_event_is_named_with_its_line(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text(f"{line}\n")
    with pytest.raises(JournalFileError) as raised:
        list(read_journal(path))
    assert problem in str(raised.value)
    assert str(path) in str(raised.value)


def test_files_that_cannot_be_opened_are_named(tmp_path: Path) -> None:
    with pytest.raises(JournalFileError, match=r"cannot read the journal .*none\.jsonl: No such file"):
        list(read_journal(tmp_path / "none.jsonl"))
    with pytest.raises(JournalFileError, match=r"cannot write the journal .*\(--journal\): No such file"):
        JournalWriter(tmp_path / "no folder" / "j.jsonl", Journal(lambda: 0))
    binary = tmp_path / "binary.jsonl"
    binary.write_bytes(b"\xff\xfe\n")
    with pytest.raises(JournalFileError, match="is no journal"):
        list(read_journal(binary))
