"""The seed and the number determine a frame; a campaign covers every message and every mutator."""

from __future__ import annotations

from typing import Any

import pytest

from protocol_specs.api_key import ApiKey
from protocol_specs.fuzzing.campaign import FAMILY_FRAMES, Campaign, Tally
from protocol_specs.fuzzing.oracle import Fault
from protocol_specs.fuzzing.targets import RECORD_SET, every_target
from protocol_specs.messages.fetch import FetchRequest
from tests.protocol_specs.every_message import MESSAGES

FAMILIES = 40


def no_time() -> float:
    return 0.0


@pytest.fixture(scope="module")
def campaign() -> Campaign:
    return Campaign(5)


def run(campaign: Campaign, frames: int, **parts: int) -> Tally:
    return campaign.run(frames=frames, clock=no_time, seconds=no_time, seconds_max=1.0, **parts)


def test_every_message_and_version_and_record_sets_are_targets() -> None:
    targets = every_target()
    assert {(s.cls, s.version) for s in targets if s.cls} == set(MESSAGES)
    assert targets.count(RECORD_SET) > 50
    assert {s.cls.API_KEY for s in targets if s.cls and s.framed} == set(ApiKey)


def test_the_same_seed_and_number_are_the_same_bytes(campaign: Campaign) -> None:
    again = Campaign(5)
    for number in (0, 1, 777, 100_000):
        frame = campaign.frame(number)
        assert (frame.number, frame) == (number, again.frame(number))
    assert campaign.frame(777).data != Campaign(6).frame(777).data


def test_parts_do_together_what_one_does_alone(campaign: Campaign) -> None:
    whole = run(campaign, FAMILIES * FAMILY_FRAMES - 7)
    parts = Tally()
    for part in range(3):
        parts.merge(run(campaign, FAMILIES * FAMILY_FRAMES - 7, part=part, parts=3))
    assert whole.frames == FAMILIES * FAMILY_FRAMES - 7
    assert (whole.frames, whole.outcomes, whole.written, whole.bytes) == (
        parts.frames,
        parts.outcomes,
        parts.written,
        parts.bytes,
    )
    assert whole.findings == []
    # A share of the frames stays readable, or nothing would be written again.
    assert whole.written > whole.frames / 10
    assert whole.outcomes["MessageDecodeError"] > whole.frames / 10


def test_time_ends_a_campaign_early(campaign: Campaign) -> None:
    ticks = iter(range(10_000))
    tally = campaign.run(frames=10**9, clock=no_time, seconds=lambda: next(ticks), seconds_max=4)
    assert tally.frames == 3 * FAMILY_FRAMES


def test_each_mutator_is_used(campaign: Campaign) -> None:
    seen = {
        note.mutator for family in range(FAMILIES) for frame in campaign.family(family)[1] for note in frame.mutations
    }
    assert {"number", "grown", "field delete", "field cut", "a tag is out of order", "spliced", "frame size"} <= seen
    assert len(seen) >= 30


def test_valid_input_that_is_read_as_another_message_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = Campaign(5)
    family = next(n for n in range(1000) if str(campaign._targets[n]) == "FetchRequest v4")
    FetchRequest().encode(4)
    FetchRequest.decode(4, FetchRequest().encode(4))
    sound = FetchRequest._DECODERS[4]

    def other(data: Any, position: int) -> Any:
        message, stop = sound(data, position)
        message.max_wait_ms += 1
        return message, stop

    monkeypatch.setitem(FetchRequest._DECODERS, 4, other)
    finding, outcome = campaign.check_frame(family * FAMILY_FRAMES, no_time)
    assert outcome == "read"
    assert finding is not None
    assert finding.fault is Fault.VALID_INPUT
