"""Every declared message at every version, for tests that try them all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st

from protocol_specs import registry

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from protocol_specs.message import Message

MESSAGES: list[tuple[type[Message], int]] = [
    (cls, version) for cls in registry.every_message() for version in cls.VERSIONS
]

for_every_message = pytest.mark.parametrize(
    ("cls", "version"), [pytest.param(cls, version, id=f"{cls.__name__} v{version}") for cls, version in MESSAGES]
)


def any_message() -> SearchStrategy[tuple[type[Message], int]]:
    """Draw a message class and one of its versions."""
    drawn: SearchStrategy[Any] = st.sampled_from(MESSAGES)
    return drawn
