from __future__ import annotations

from typing import TYPE_CHECKING

from tests.scenarios.playing.runs import play

if TYPE_CHECKING:
    from pathlib import Path

QUICK = """
title: t
cluster:
  brokers: 1
  config:
    group.initial.rebalance.delay.ms: 0
    offsets.topic.num.partitions: 1
    offsets.topic.replication.factor: 1
    transaction.state.log.num.partitions: 1
    transaction.state.log.replication.factor: 1
    transaction.state.log.min.isr: 1
topics:
  in: {partitions: 1, replication_factor: 1}
  out: {partitions: 2, replication_factor: 1}
expect: {verdict: any}
"""
SOURCE = """
clients:
  source: {producer: {}, script: [{send: {topic: in, count: 6, wait: true}}, close]}
"""
FIRST = 1 << 40


def test_positions_polls_and_commits_are_operations_of_the_history(tmp_path: Path) -> None:
    played = play(
        tmp_path,
        QUICK
        + SOURCE
        + """  reader:
    consumer: {group.id: g, auto.offset.reset: earliest, enable.auto.commit: false, max.poll.records: 2}
    script:
      - {wait: {client: source}}
      - {subscribe: [in]}
      - {poll: 4}
      - commit_offsets
      - {poll: 2}
      - {seek: {in-0: committed}}
      - {poll: {until: end}}
      - {commit_offsets: {asynchronous: true}}
      - close
""",
    )
    read = [
        offset for each in played.operations("poll") for _, found in each.results for offset, _ in found.get("in-0", [])
    ]
    assert read == [0, 1, 2, 3, 4, 5, 4, 5]
    assert [(each.type, each.mops) for each in played.operations("commit")] == [
        ("ok", [["commit", {"in-0": 4}]]),
        ("ok", [["commit", {"in-0": 6}]]),
    ]
    assert {each.group for each in played.operations("poll")} == {"g"}
    assert any(each.facts.get("rebalanced") == ["in-0"] for each in played.operations("poll"))


def test_a_new_member_of_a_group_reads_to_the_end(tmp_path: Path) -> None:
    played = play(
        tmp_path,
        QUICK
        + SOURCE
        + """  reader:
    consumer: {group.id: g, auto.offset.reset: earliest, enable.auto.commit: false, max.poll.records: 2}
    script: [{wait: {client: source}}, {subscribe: [in]}, {poll: {until: end}}, commit_offsets, close]
""",
    )
    assert [each.mops for each in played.operations("commit")] == [[["commit", {"in-0": 6}]]]


def test_final_polls_read_everything_from_the_beginning(tmp_path: Path) -> None:
    played = play(
        tmp_path,
        QUICK
        + SOURCE
        + "  reader: {consumer: {group.id: g}, script: [{wait: {client: source}}, close], final_polls: true}\n",
    )
    finals = [each for each in played.operations("poll") if each.facts.get("final")]
    read = [value for each in finals for _, found in each.results for _, value in found.get("in-0", [])]
    assert read == list(range(FIRST, FIRST + 6))
    assert finals[0].facts["assigned"] == ["in-0", "out-0", "out-1"]


COPIER = """  copier:
    producer: {transactional.id: t}
    consumer:
      {group.id: g, auto.offset.reset: earliest, enable.auto.commit: false, isolation.level: read_committed}
    script: [init, {subscribe: [in]}, {copy: COPY}, close]
"""


def test_a_copy_aborts_as_planned_rewinds_and_loses_and_doubles_nothing(tmp_path: Path) -> None:
    copier = COPIER.replace("COPY", "{to: out, records: 6, at_most: 2, abort: [2]}")
    played = play(tmp_path, QUICK + SOURCE + copier)
    assert dict(played.history.transactions()) == {"ok": 3, "fail": 1}
    outputs = [record for record in played.evidence.truth.stored if record.topic == "out"]
    assert len(outputs) == 6
    assert {record.state for record in played.evidence.truth.uncommitted} == {"aborted"}
    assert played.run.verdict.counts.failed == 2, "the records of the aborted transaction have certainly failed"
    assert played.run.verdict.counts.lost == 0


def test_a_copy_that_does_not_rewind_skips_what_it_aborted_and_no_more(tmp_path: Path) -> None:
    copier = COPIER.replace("COPY", "{to: out, records: 4, at_most: 2, abort: [1], rewind: false}")
    played = play(tmp_path, QUICK + SOURCE + copier)
    outputs = [record for record in played.evidence.truth.stored if record.topic == "out"]
    assert len(outputs) == 4
    assert dict(played.history.transactions()) == {"ok": 2, "fail": 1}


def test_the_records_of_an_open_transaction_have_an_unknown_outcome(tmp_path: Path) -> None:
    text = QUICK + "clients: {app: {producer: {transactional.id: t}, script: [init, begin, {send: 2}, flush, crash]}}\n"
    played = play(tmp_path, text)
    assert played.history.transactions()["info"] == 1
    assert played.run.verdict.counts.unknown == 2


def test_a_call_that_the_state_does_not_allow_is_recorded(tmp_path: Path) -> None:
    text = (
        QUICK
        + "clients: {app: {producer: {transactional.id: t}, script: [begin, init, begin, {send: 1}, commit, close]}}\n"
    )
    played = play(tmp_path, text)
    assert [(each.f, each.type) for each in played.history.operations] == [
        ("begin", "fail"), ("init", "ok"), ("txn", "ok"), ("close", "ok"),
    ]  # fmt: skip


def test_a_poll_that_has_reached_the_last_stable_offset_names_it_with_the_high_watermark(tmp_path: Path) -> None:
    played = play(
        tmp_path,
        QUICK
        + """
clients:
  writer:
    producer: {transactional.id: t, linger.ms: 0}
    script: [init, begin, {send: {topic: in, count: 2}}, commit, begin, {send: {topic: in}}, flush, {wait: 500}, abort]
  reader:
    consumer: {isolation.level: read_committed, max.poll.records: 1, fetch.max.wait.ms: 50}
    script:
      - {wait: {acked: 2}}
      - {wait: 100}
      - {assign: [in]}
      - {seek: {in-0: beginning}}
      - {poll: {records: 3, timeout_ms: 300}}
      - close
""",
    )
    polls = [(each.results[0][1], each.facts.get("offsets")) for each in played.operations("poll")]
    reached = {"in-0": {"lso": 3, "hw": 4}}
    assert polls[:3] == [({"in-0": [[0, FIRST]]}, None), ({"in-0": [[1, FIRST + 1]]}, reached), ({}, reached)]


def test_automatic_commits_are_operations_of_the_history(tmp_path: Path) -> None:
    played = play(
        tmp_path,
        QUICK
        + SOURCE
        + """  reader:
    consumer: {group.id: g, auto.offset.reset: earliest, auto.commit.interval.ms: 500, max.poll.records: 3}
    script:
      - {wait: {client: source}}
      - {subscribe: [in]}
      - {poll: {records: 3, work_ms: 600}}
      - {poll: {records: 3, work_ms: 100}}
""",
    )
    assert [(each.type, each.mops, each.facts) for each in played.operations("commit")] == [
        ("ok", [["commit", {"in-0": 3}]], {"auto": True}),
    ]
