"""Every declared message at every version, for tests that try them all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st

from protocol_specs import registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import SearchStrategy

    from protocol_specs.message import Message

MESSAGES: list[tuple[type[Message], int]] = [
    (cls, version) for cls in registry.every_message() for version in cls.VERSIONS
]


def for_every_message(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test of `cls` and `version` with every message: one test per class, which tries all versions.

    A test per version would take longer to collect and to report than to run.
    """

    @pytest.mark.parametrize("cls", list(registry.every_message()), ids=lambda cls: cls.__name__)
    def of_every_version(cls: type[Message]) -> None:
        for version in cls.VERSIONS:
            try:
                test(cls=cls, version=version)
            except BaseException as failure:
                failure.add_note(f"in {cls.__name__} v{version}")
                raise

    of_every_version.__name__ = test.__name__
    return of_every_version


def any_message() -> SearchStrategy[tuple[type[Message], int]]:
    """Draw a message class and one of its versions."""
    drawn: SearchStrategy[Any] = st.sampled_from(MESSAGES)
    return drawn
