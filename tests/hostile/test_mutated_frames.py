"""200,000 mutated frames over all APIs, as `broker-sim protocol hostile` makes them: what a commit may not break."""

from __future__ import annotations

import re
import subprocess

import pytest

from protocol_specs.api_key import ApiKey
from protocol_specs.messages.envelope import EnvelopeResponse
from tests.interop.served_cluster import command, environment

FRAMES = 200_000


@pytest.mark.interop
def test_two_hundred_thousand_frames_break_no_rule_of_the_codec() -> None:
    run = subprocess.run(
        command("protocol", "hostile", "--frames", str(FRAMES), "--seed", "1", "--jobs", "2", "--seconds", "200"),
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=230,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    first = run.stdout.splitlines()[0]
    assert first.startswith(f"{FRAMES:,} frames of seed 1 over {len(ApiKey)} APIs, "), run.stdout
    small = re.search(r"at most ([\d,]+) bytes for a frame of up to 100", run.stdout)
    assert small is not None
    assert int(small[1].replace(",", "")) < 1_000_000


def test_null_by_a_padded_length_ends_where_its_varint_ends() -> None:
    # Found among five million: the byte after the padding was taken for a part of the length.
    body = bytes.fromhex("8000") + b"\x00\x02" + b"\x00"
    assert EnvelopeResponse.decode_from(0, body, 0) == (EnvelopeResponse(response_data=None, error_code=2), 5)
