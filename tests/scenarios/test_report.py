import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest

from broker_scenarios.expectations import Judgement
from broker_scenarios.journal_view import JournalView
from broker_scenarios.measurements import measure
from broker_scenarios.promises import Promises
from broker_scenarios.report import render_report, write_report
from broker_scenarios.run_record import RunRecord
from broker_scenarios.timeline import build_timeline
from broker_scenarios.verdict import check_run

VOID = {"meta", "br", "hr", "link", "img"}


class Balanced(HTMLParser):
    """Refuses a page whose tags do not nest."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):  # noqa: ARG002  (HTMLParser's signature)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture
def run(story, journal_events):
    story.acked(1, 2, 3, 4).log(1).log(9, first_offset=1).truncated(2, 3, 4, first_offset=1).send(5).info(5)
    events = [
        journal_events("BrokerKilled", 5_000, 1),
        journal_events("LeaderElected", 6_000, 2, previous_leader=1, leader_epoch=4, isr=(2, 3), unclean=True),
        journal_events("IsrChanged", 6_000, 2, isr=(2, 3), previous_isr=(1, 2, 3)),
        journal_events("HighWatermarkAdvanced", 7_000, 2, high_watermark=1, leader_epoch=4),
        journal_events("LogTruncated", 8_000, 1, from_offset=1, to_offset=4, leader_epoch=4, leader_id=2),
        journal_events("ProduceCompleted", 8_500, 2, error_code=19),
    ]
    view = JournalView.of(events)
    verdict = check_run(
        history=story.history(),
        stored=story.stored(),
        truncated=story.truncations(),
        journal=view,
        promises=Promises(acks=1, replication_factor=3),
    )
    return RunRecord(
        name="crash <leader> & co",
        description="A leader's death.",
        verdict=verdict,
        judgement=Judgement(misses=("lost 3, expected exactly 0",)),
        timeline=build_timeline(verdict, view),
        facts={"seed": "7"},
        rules=["hold-fetch fired 3 of 3"],
        measurements=measure(verdict.records, view, end_us=verdict.end_us),
        reproduce="broker-sim run crash.yaml --seed 7",
    )


def test_the_page_nests_and_its_charts_are_well_formed(run):
    page = render_report([run])
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    charts = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(charts) == 1
    ET.fromstring(charts[0])


def test_the_page_fetches_nothing(run):
    page = render_report([run])
    assert not re.search(r"https?://|\bsrc=|@import|url\(|<link", page)


def test_names_are_text_and_never_markup(run):
    page = render_report([run])
    assert "crash &lt;leader&gt; &amp; co" in page
    assert "crash <leader>" not in page


def test_the_page_shows_losses_with_their_causes_and_missed_expectations(run):
    page = render_report([run])
    assert "3 lost in orders-0, offsets 1 to 3" in page
    assert "Broker 1 rejoined behind leader 2 at leader epoch 4, 0.007 s, and truncated offsets 1 to 3." in page
    assert "Permitted: acks=1: the leader confirms alone" in page
    assert "lost 3, expected exactly 0" in page
    assert "not as expected" in page
    assert "elected uncleanly" in page


def test_the_page_shows_errors_latency_isr_changes_and_the_command(run):
    page = render_report([run])
    assert "From send to acknowledgement: p50 1.0 ms" in page
    assert "<td>unknown</td><td>REQUEST_TIMED_OUT</td>" in page
    assert "Brokers refused 1 batch for orders-0 with NOT_ENOUGH_REPLICAS." in page
    assert "ISR from 0.005 s: 2 3</p>" in page
    assert "<code>broker-sim run crash.yaml --seed 7</code>" in page
    assert "every finding is one that the configuration permits" in page


def test_the_page_has_no_row_for_an_anomaly_that_was_not_found(run):
    assert "double-completion" not in render_report([run])


def test_a_finding_that_nothing_permits_is_marked(run):
    # Value 9 is in the log, and no client sent it.
    assert "breaks a promise" in render_report([run])


def test_the_same_runs_give_the_same_page(run, tmp_path):
    path = write_report(tmp_path / "deep" / "report.html", [run])
    assert path.is_absolute()
    assert path.read_text() == render_report([run])


def test_a_run_without_timeline_has_a_page_too(run):
    run.timeline = None
    assert "<svg" not in render_report([run])


def test_the_topics_of_the_brokers_are_folded_below_those_of_clients(run):
    charts = [replace(run.timeline.partitions[0], eventful=False) for _ in range(31)]
    for place, chart in enumerate(charts[:30]):
        chart.topic, chart.partition = "__consumer_offsets", place
    quiet = replace(run, timeline=replace(run.timeline, partitions=charts))
    shown, _, folded = render_report([quiet]).partition("30 partitions without change of leader")
    assert "__consumer_offsets-0" not in shown
    assert shown.count('class="partition"') == 1
    assert "__consumer_offsets-0" in folded
    assert "Not drawn: 6 more partitions" in folded
