from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs.sasl.plain import PlainMessage
from protocol_specs.sasl.sasl_names import SaslMessageError

PART = st.text(st.characters(min_codepoint=1, exclude_categories=["Cs"]))


@given(parts=st.tuples(PART, PART, PART))
def test_a_message_has_three_parts(parts: tuple[str, str, str]) -> None:
    assert PlainMessage.decode(PlainMessage(*parts).encode()) == parts


@pytest.mark.parametrize(("message", "count"), [(b"", 1), (b"\0a", 2), (b"\0a\0b\0", 4), (b"\0a\0b\0c\0d\0e", 4)])
def test_another_number_is_refused(message: bytes, count: int) -> None:
    with pytest.raises(SaslMessageError, match=f"Invalid SASL/PLAIN response: expected 3 tokens, got {count}"):
        PlainMessage.decode(message)


def test_bytes_that_are_no_text_are_read_as_java_reads_them() -> None:
    assert PlainMessage.decode(b"\0\xff\0p").user == "\ufffd"
