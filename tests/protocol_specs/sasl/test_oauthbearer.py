from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs.sasl.oauthbearer import BearerMessage
from protocol_specs.sasl.sasl_names import SaslMessageError


@given(
    token=st.from_regex(r"[-_~+/.a-zA-Z0-9]+={0,2}", fullmatch=True),
    authorization_id=st.sampled_from(["", "me", "a=2Cb"]),
    extensions=st.dictionaries(st.sampled_from(["traceId", "b"]), st.sampled_from(["1 2", "x=y", "a,b\r\n"])),
)
def test_a_message_is_read_as_written(token: str, authorization_id: str, extensions: dict[str, str]) -> None:
    message = BearerMessage(token=token, authorization_id=authorization_id, extensions=extensions)
    assert BearerMessage.decode(message.encode()) == message


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (b"", "Invalid OAUTHBEARER client first message"),
        (b"y,,\x01auth=Bearer t\x01\x01", "Invalid OAUTHBEARER client first message"),
        (b"n,,\x01auth=Bearer t\x01", "Invalid OAUTHBEARER client first message"),
        (b"n,,\x01a1=b\x01auth=Bearer t\x01\x01", "Invalid OAUTHBEARER client first message"),
        (b"n,,\x01\x01", "'auth' not specified"),
        (b"n,,\x01auth=Bearer\x01\x01", "invalid 'auth' format"),
        (b"n,,\x01auth=Bearer t=t\x01\x01", "invalid 'auth' format"),
        (b"n,,\x01auth=Basic t\x01\x01", "Invalid scheme in OAUTHBEARER client first message: Basic"),
    ],
)
def test_other_text_is_refused(message: bytes, problem: str) -> None:
    with pytest.raises(SaslMessageError, match=problem):
        BearerMessage.decode(message)


def test_the_scheme_is_read_in_any_case() -> None:
    assert BearerMessage.decode(b"n,,\x01auth=bEARER  t\x01\x01").token == "t"
