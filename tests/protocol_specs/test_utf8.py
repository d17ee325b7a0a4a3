"""Malformed UTF-8 reads as it does in Java."""

from __future__ import annotations

import pytest

from protocol_specs.messages.metadata import MetadataRequest
from protocol_specs.utf8 import REPLACE

# Each was sent to Kafka 4.3.1 as a topic's name, which came back so (tests/differential, strings that are not UTF-8).
READ_BY_KAFKA = {
    "c328": "\ufffd(",
    "fffe": "\ufffd\ufffd",
    "61c0af62": "a\ufffd\ufffdb",
    "f4908080": "\ufffd\ufffd\ufffd\ufffd",
    "e282": "\ufffd",
    "eda080": "\ufffd",
    "edbfbf": "\ufffd",
    "eda0": "\ufffd",
    "eda041": "\ufffdA",
    "eda080edb080": "\ufffd\ufffd",
    "edc080": "\ufffd\ufffd\ufffd",
    "ed": "\ufffd",
    "41eda0c280": "A\ufffd\x80",
    "e0a041": "\ufffdA",
    "f48fbf": "\ufffd",
    "ed9fbf": "\ud7ff",
    "ee8080": "\ue000",
}


@pytest.mark.parametrize(("data", "text"), READ_BY_KAFKA.items())
def test_malformed_bytes_become_as_many_replacements_as_in_java(data: str, text: str) -> None:
    assert str(bytes.fromhex(data), "utf-8", REPLACE) == text


def test_a_surrogate_in_a_message_is_one_replacement() -> None:
    body = b"\0\0\0\1\0\3\xed\xa0\x80\0"
    request = MetadataRequest.decode(4, body)
    assert request.topics is not None
    assert request.topics[0].name == "\ufffd"


def test_text_that_cannot_be_encoded_is_still_an_error() -> None:
    with pytest.raises(UnicodeEncodeError):
        "\ud800".encode("utf-8", REPLACE)
