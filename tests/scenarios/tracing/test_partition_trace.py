from __future__ import annotations

from textwrap import dedent

from broker_scenarios.tracing.batch_lives import lives_of
from broker_scenarios.tracing.broker_side import BrokerSide
from broker_scenarios.tracing.partition_trace import trace_partition
from broker_scenarios.tracing.timeline_html import render_timeline
from broker_scenarios.tracing.timeline_text import timeline_lines
from broker_sim.control.events import IsrChanged
from tests.scenarios.tracing.traced_batches import EPOCH_US, batch, event

RETRIED = [
    *batch(1, at_ms=4)[:6],
    event("retried", 10, 1, error="NOT_ENOUGH_REPLICAS", backoff_ms=10, attempts=1),
    event("ready", 20, 1, detail="backed off", attempts=1),
    event("drained", 22, 1, node=1, attempts=1),
    event("sent", 22, 1, node=1, correlation_id=8, attempts=1),
    event("acknowledged", 28, 1, base_offset=66, attempts=1),
]


def test_each_batch_is_a_row_with_its_failures() -> None:
    changed = IsrChanged(
        time_us=EPOCH_US + 15_000, broker_id=1, topic="orders", partition=2, isr=(1, 2), previous_isr=(1,),
        leader_epoch=0, partition_epoch=1,
    )  # fmt: skip
    events = [*batch(0, offset=60), *RETRIED, event("created", 8, 2), event("failed", 20, 2, error="BROKEN")]
    timeline = trace_partition(lives_of(events), BrokerSide([(1, changed)]), 40)
    assert "\n".join(timeline_lines(timeline)) == dedent(
        """\
        orders-2: 3 batches, with 9 records of p
        2 of 3 acknowledged, 1 sent more than once

          batch 0  ░░░░░░░░███                                       7.000 ms, offsets 60 to 62
          batch 1        ░░░░░░░░░██┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄▒▒▒██████████   24.000 ms, offsets 66 to 68
          batch 2               ░░░░░░░░░░░░░░░░░░░░░                failed: BROKEN
                   ░ filling   ▒ ready   █ in flight   ┄ back-off

          +10.000 ms  batch 1 retried: NOT_ENOUGH_REPLICAS
          +15.000 ms  (meanwhile) the ISR of orders-2 is 1,2
          +20.000 ms  batch 2 failed: BROKEN"""
    )
    page = render_timeline(timeline)
    assert "24.000 ms, offsets 66 to 68" in page


def test_of_many_batches_those_around_the_slowest_are_shown() -> None:
    quick = [each for number in range(2, 30) for each in batch(number, at_ms=30 + number)]
    events = [*batch(0), *RETRIED, *quick]
    timeline = trace_partition(lives_of(events), BrokerSide([]), 6)
    assert timeline.title == "orders-2: 6 batches of 30, those around the slowest, with 18 records of p"
    assert list(timeline.lanes) == [f"batch {number}" for number in range(6)]
    assert render_timeline(trace_partition(lives_of(events), BrokerSide([]), 20)).count(' class="close"') == 1


def test_batches_of_several_producers_have_different_names() -> None:
    events = [*batch(0), *batch(0, client_id="q")]
    assert list(trace_partition(lives_of(events), BrokerSide([]), 6).lanes) == ["batch p:0", "batch q:0"]
