"""The generated codec against the construct reference: two readings of one declaration that share no code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import construct
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol_specs import strategies
from protocol_specs.codec.struct_builder import plain, to_reference
from tests.protocol_specs.every_message import for_every_message

if TYPE_CHECKING:
    from protocol_specs.message import Message


@for_every_message
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_both_write_the_same_bytes_and_read_the_same_values(
    cls: type[Message], version: int, data: st.DataObject
) -> None:
    message = data.draw(strategies.message(cls, version))
    values = to_reference(message, version, flexible=cls.is_flexible(version))
    body = message.encode(version)
    assert cls.struct(version).build(values) == body
    assert plain(cls.struct(version).parse(body)) == values
    assert cls.decode(version, body) == message


def without_null_tags(value: Any) -> Any:
    """Null is the default of every nullable tag: a message does not tell whether it stood on the wire."""
    if isinstance(value, list):
        return [without_null_tags(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: without_null_tags({tag: data for tag, data in item.items() if data is not None})
        if name == "tags"
        else without_null_tags(item)
        for name, item in value.items()
    }


@for_every_message
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_both_make_the_same_of_broken_bytes(cls: type[Message], version: int, data: st.DataObject) -> None:
    broken = data.draw(strategies.nearly_valid(cls, version))
    reference = cls.struct(version)
    if broken.refused:
        with pytest.raises(construct.ConstructError):
            reference.parse(broken.data)
    else:
        message = cls.decode(version, broken.data)
        values = to_reference(message, version, flexible=cls.is_flexible(version))
        assert without_null_tags(plain(reference.parse(broken.data))) == without_null_tags(values)
