"""The rule of the wire format that bytes break, by the reason of the decode error."""

from __future__ import annotations

import re
from typing import Final

CUT_BATCH: Final = "the record set ends inside of it"
"""The name of a batch that its record set cuts off, as the last one of a Fetch response may be."""

_RULES: Final = (
    (re.compile(CUT_BATCH), "a batch is whole"),
    (re.compile(r"^\d+ bytes? needed, -?\d+ bytes left"), "a field ends before its message does"),
    (re.compile(r"never null"), "null (length -1, in flexible versions 0) stands only where the version allows it"),
    (re.compile(r"^(?:tag \d+: )?length -?\d+, -?\d+ bytes left"), "a length is no more than the bytes that are left"),
    (re.compile(r"^size -?\d+, -?\d+ bytes left"), "a frame has as many bytes as its size field"),
    (re.compile(r"varint is longer"), "a varint has at most 5 bytes"),
    (re.compile(r"a string has at most"), "a string has at most 32767 bytes"),
    (
        re.compile(r"^tag \d+.*not valid in version"),
        "a tag that Kafka has given to a field stands only in its versions",
    ),
    (re.compile(r"^the stored checksum"), "the checksum is that of the bytes after it"),
    (re.compile(r"^length -?\d+, the least is"), "a batch is at least as long as its header"),
    (re.compile(r"^magic -?\d+"), "the magic of a batch is 0, 1 or 2"),
    (
        re.compile(CUT_BATCH),
        "a batch is whole",
    ),
    (re.compile(r"bytes after the last of \d+ records"), "the records fill their batch"),
    (re.compile(r"^length \d+, its fields take"), "a record is as long as its fields"),
    (re.compile(r"headers, -?\d+ bytes left|record count"), "a count is not negative and no more than the bytes left"),
)


def rule_of(reason: str) -> str:
    """The rule behind a reason; empty if the reason is sufficient."""
    for pattern, rule in _RULES:
        if pattern.search(reason):
            return rule
    return ""
