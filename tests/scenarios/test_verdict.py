import pytest

from broker_scenarios.errors import ScenarioError
from broker_scenarios.expectations import CountRange, Expectation, judge
from broker_scenarios.findings import Cause, CheckCrash, Finding, FindingKind
from broker_scenarios.journal_view import JournalView
from broker_scenarios.measurements import Measurements, Refusal
from broker_scenarios.promises import Promises
from broker_scenarios.verdict import DirectEngine, Validity, check_run
from tests.scenarios.conftest import journal_event

WEAK = Promises(acks=1, min_insync_replicas=1, replication_factor=3, enable_idempotence=False)
STRONG = Promises(acks=-1, min_insync_replicas=2, replication_factor=3)


def verdict_on(story, promises, **given):
    logs = {"stored": story.stored(), "truncated": story.truncations(), **given}
    view = JournalView.of(logs.pop("journal", []))
    return check_run(history=story.history(), promises=promises, journal=view, **logs)


def truncation(story):
    place = {"from_offset": 1, "to_offset": 3, "leader_epoch": 4, "leader_id": 2}
    return journal_event("LogTruncated", story.now_us + 10_000, 1, **place)


def election(story, broker_id=2, **changes):
    fields = {"previous_leader": 1, "leader_epoch": 4, "isr": (2, 3), **changes}
    return journal_event("LeaderElected", story.now_us + 5_000, broker_id, **fields)


def test_a_run_without_findings_is_valid(story):
    verdict = verdict_on(story.acked(1, 2).log(1, 2), STRONG)
    assert verdict.validity is Validity.VALID
    assert verdict.counts.as_dict() == {
        "sent": 2, "acked": 2, "stored": 2, "lost": 0, "duplicated": 0, "reordered": 0, "failed": 0, "unknown": 0,
    }  # fmt: skip


def test_a_loss_by_truncation_is_permitted_under_acks_1_and_breaks_acks_all(story):
    story.acked(1, 2, 3).log(1).truncated(2, 3, first_offset=1)
    for promises, validity, permitted in ((WEAK, Validity.VALID, 2), (STRONG, Validity.BROKEN, 0)):
        verdict = verdict_on(story, promises, journal=[truncation(story)])
        assert verdict.validity is validity
        judged = next(each for each in verdict.judged if each.kind is FindingKind.LOST_WRITE)
        assert (judged.found, judged.permitted) == (2, permitted)


def test_a_loss_names_the_broker_that_truncated_it_and_the_epoch(story):
    story.acked(1, 2, 3).log(1).truncated(2, 3, first_offset=1)
    verdict = verdict_on(story, WEAK, journal=[truncation(story)])
    (group,) = verdict.groups
    assert (group.cause, group.count, group.first_offset, group.last_offset) == (Cause.TRUNCATED, 2, 1, 2)
    assert group.why == ("broker 1 rejoined behind leader 2 at leader epoch 4, 0.015 s, and truncated offsets 1 to 2")


def test_a_truncation_in_the_journal_alone_explains_a_loss(story):
    story.acked(1, 2).log(1)
    (finding,) = verdict_on(story, WEAK, journal=[truncation(story)]).findings
    assert finding.cause is Cause.TRUNCATED


def test_a_record_left_on_a_broker_that_never_came_back_names_the_election(story):
    story.acked(1, 2).log(1)
    (finding,) = verdict_on(story, WEAK, journal=[election(story)]).findings
    assert finding.cause is Cause.LEADER_REPLACED
    assert "broker 2 became leader at epoch 4" in finding.detail


def test_an_election_after_a_time_without_leader_names_the_leader_before(story):
    story.acked(1, 2).log(1)
    gone = election(story, broker_id=-1, isr=())
    back = election(story, previous_leader=-1, leader_epoch=5, unclean=True)
    (finding,) = verdict_on(story, WEAK, journal=[gone, back]).findings
    assert finding.cause is Cause.LEADER_REPLACED
    assert "broker 2 became leader at epoch 5" in finding.detail
    assert "broker 1 never gave it back" in finding.detail


def test_the_first_election_of_a_partition_explains_no_loss(story):
    story.acked(1, 2).log(1)
    (finding,) = verdict_on(story, WEAK, journal=[election(story, previous_leader=-1)]).findings
    assert finding.cause is Cause.UNEXPLAINED


def test_a_loss_that_neither_truncation_nor_election_explains_breaks_even_acks_1(story):
    verdict = verdict_on(story.acked(1, 2).log(1), WEAK)
    assert verdict.validity is Validity.BROKEN
    assert verdict.findings[0].cause is Cause.UNEXPLAINED


def test_an_offset_given_away_twice_is_excused_with_the_loss_behind_it(story):
    story.acked(1, 2).truncated(2, first_offset=1).acked(3, first_offset=1).log(1, 3)
    assert verdict_on(story, WEAK, journal=[truncation(story)]).validity is Validity.VALID
    assert verdict_on(story, STRONG, journal=[truncation(story)]).validity is Validity.BROKEN


def test_duplicates_are_judged_by_idempotence(story):
    story.acked(1, 2).log(1, 2, 1)
    assert verdict_on(story, WEAK).validity is Validity.VALID
    assert verdict_on(story, STRONG).validity is Validity.BROKEN


def test_a_stored_record_of_unknown_outcome_is_information(story):
    verdict = verdict_on(story.acked(1).send(2).info(2).log(1, 2), STRONG)
    assert verdict.validity is Validity.VALID
    assert verdict.found("recovered") == 1
    assert verdict.counts.unknown == 1


def test_the_same_outcome_mistaken_for_a_failure_is_noticed(story):
    assert verdict_on(story.acked(1).send(2).fail(2).log(1, 2), WEAK).validity is Validity.BROKEN


class CrashingEngine(DirectEngine):
    def check(self, history, logs):
        result = super().check(history, logs)
        result.crashes.append(CheckCrash(topic="orders", partition=0, kind="duplicate", detail="KeyError: 3"))
        return result


def test_a_crashed_check_makes_the_verdict_unknown_and_never_valid(story):
    verdict = verdict_on(story.acked(1).log(1), STRONG, engine=CrashingEngine())
    assert verdict.validity is Validity.UNKNOWN
    assert verdict.reasons == ["check duplicate crashed on orders-0: KeyError: 3"]


def test_broken_goes_before_unknown(story):
    verdict = verdict_on(story.acked(1, 2).log(1), STRONG, engine=CrashingEngine())
    assert verdict.validity is Validity.BROKEN
    assert len(verdict.reasons) == 2


def unseen(value_id, offset):
    return Finding(
        kind=FindingKind.UNSEEN, topic="orders", partition=0, value_id=value_id, ack_offset=offset, detail="unread"
    )


def test_further_findings_are_judged_with_the_others(story):
    verdict = verdict_on(story.acked(1, 2).log(1), WEAK)
    verdict.add([(unseen(1, 4), "permitted"), (unseen(2, 5), None), (unseen(3, 7), None)], ["check cycles crashed"])
    assert verdict.validity is Validity.BROKEN
    assert "unseen: 2 of 3 break a promise (acknowledged, and not polled by the final polls)" in verdict.reasons
    assert verdict.reasons[-1] == "check cycles crashed"
    assert [(each.kind, each.permitted_because, each.first_offset, each.last_offset) for each in verdict.groups] == [
        (FindingKind.LOST_WRITE, None, 1, 1),
        (FindingKind.UNSEEN, None, 5, 7),
        (FindingKind.UNSEEN, "permitted", 4, 4),
    ]


def test_a_further_check_that_crashed_makes_a_valid_verdict_unknown(story):
    verdict = verdict_on(story.acked(1).log(1), STRONG)
    verdict.add([(unseen(1, 0), "permitted")], ["check cycles crashed"])
    assert (verdict.validity, verdict.reasons) == (Validity.UNKNOWN, ["check cycles crashed"])


def test_without_truth_nothing_is_known(story):
    verdict = verdict_on(story.acked(1), STRONG, stored=None)
    assert verdict.validity is Validity.UNKNOWN


def test_without_one_acknowledged_record_nothing_was_tested(story):
    verdict = verdict_on(story.send(1).fail(1), STRONG)
    assert verdict.validity is Validity.UNKNOWN
    assert verdict.reasons == ["no record was acknowledged: nothing was tested"]


def test_a_caveat_of_the_runner_makes_the_verdict_unknown(story):
    verdict = verdict_on(story.acked(1).log(1), STRONG, caveats=["the journal dropped 3 events"])
    assert verdict.validity is Validity.UNKNOWN


def test_what_breaks_a_promise_comes_before_what_is_permitted(story):
    story.acked(1, 2, 3).log(1, 1).truncated(2, 3, first_offset=1).log(99, first_offset=9)
    verdict = verdict_on(story, WEAK, journal=[truncation(story)])
    assert [group.kind.value for group in verdict.groups] == ["misdelivered", "lost-write", "duplicate"]


def test_partitions_are_counted_apart(story):
    story.acked(1, partition=0).acked(2, partition=1).log(1, partition=0)
    verdict = verdict_on(story, WEAK)
    assert verdict.partitions["orders", 0].lost == 0
    assert verdict.partitions["orders", 1].lost == 1
    assert (verdict.counts.acked, verdict.counts.lost) == (2, 1)


def test_an_expectation_that_is_met_misses_nothing(story):
    story.acked(1, 2, 3).log(1).truncated(2, 3, first_offset=1)
    verdict = verdict_on(story, WEAK, journal=[truncation(story)])
    wanted = {"lost": CountRange(at_least=1), "duplicate": CountRange(at_most=0)}
    assert judge(verdict, Measurements(), Expectation(counts=wanted)).met


def test_an_expectation_that_is_missed_names_the_difference(story):
    verdict = verdict_on(story.acked(1).log(1), STRONG)
    wanted = Expectation(validity=Validity.BROKEN, counts={"lost": CountRange(at_least=1)})
    judgement = judge(verdict, Measurements(), wanted, ("rule hold-fetch never fired",))
    assert judgement.misses == (
        "rule hold-fetch never fired",
        "verdict valid, expected broken: nothing was found that the configuration does not permit",
        "lost 0, expected at least 1",
    )


@pytest.mark.parametrize(("batches", "met"), [(0, False), (1, False), (2, True)])
def test_an_expected_error_counts_the_batches_that_brokers_refused(story, batches, met):
    refusals = [Refusal(topic="orders", partition=0, name="NOT_ENOUGH_REPLICAS", batches=batches)]
    wanted = Expectation(errors={"NOT_ENOUGH_REPLICAS": CountRange(at_least=2)})
    judgement = judge(verdict_on(story.acked(1).log(1), STRONG), Measurements(refusals=refusals), wanted)
    assert judgement.met is met
    if batches == 1:
        assert judgement.misses == ("1 batch refused with NOT_ENOUGH_REPLICAS, expected at least 2",)


def test_an_unknown_count_is_refused():
    with pytest.raises(ScenarioError, match="expected count 'loss' is unknown"):
        Expectation(counts={"loss": CountRange()})


def test_a_range_of_a_count_is_written_as_it_is_meant():
    ranges = [CountRange(at_least=2), CountRange(at_least=2, at_most=2), CountRange(at_least=1, at_most=2)]
    assert [str(each) for each in ranges] == ["at least 2", "exactly 2", "1 to 2"]
    assert [count for count in range(4) if ranges[2].holds(count)] == [1, 2]


def test_findings_are_found_by_their_kind_and_reasons_are_listed_once(story):
    story.acked(1, 2, 3).log(1, 1).truncated(2, 3, first_offset=1)
    verdict = verdict_on(story, WEAK, journal=[truncation(story)])
    assert [finding.value_id for finding in verdict.findings_of(FindingKind.LOST_WRITE)] == [2, 3]
    assert [finding.value_id for finding in verdict.findings_of(FindingKind.DUPLICATE)] == [1]
    judged = {each.kind: each for each in verdict.judged}
    assert len(judged[FindingKind.LOST_WRITE].reasons) == 1
    assert (judged[FindingKind.LOST_WRITE].permitted, verdict.counts.stored, verdict.counts.lost) == (2, 1, 2)


@pytest.mark.parametrize(
    ("offsets", "first", "last"),
    [
        ([(0, -1), (5, -1)], 0, 5),
        ([(5, -1), (0, -1)], 0, 5),
        ([(-1, 0), (-1, 5)], 0, 5),
        ([(-1, -1), (-1, 5)], 5, 5),
        ([(0, 9)], 0, 0),
        ([(-1, -1)], -1, -1),
    ],
)
def test_a_group_has_the_range_of_its_offsets(story, offsets, first, last):
    verdict = verdict_on(story.acked(1).log(1), STRONG)
    findings = [
        Finding(
            kind=FindingKind.UNSEEN, topic="t", partition=0, value_id=1, ack_offset=acked, offset=offset, detail=""
        )
        for acked, offset in offsets
    ]  # fmt: skip
    verdict.add([(finding, None) for finding in findings], [])
    [group] = verdict.groups
    assert (group.count, group.first_offset, group.last_offset) == (len(offsets), first, last)


def test_a_run_lasts_from_its_first_send_to_its_last_outcome_or_send(story):
    verdict = verdict_on(story.acked(1, 2).log(1, 2), STRONG)
    assert (verdict.start_us, verdict.end_us) == (1_000, 4_000)
    verdict = verdict_on(story.send(3), STRONG)
    assert (verdict.start_us, verdict.end_us) == (1_000, 5_000)
    assert verdict_on(story, STRONG, stored=None).end_us == 0
