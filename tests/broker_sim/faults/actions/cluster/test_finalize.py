from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def test_the_features_of_a_release_are_finalized(replicas: Callable[..., Any], fire: Callable[..., Any]) -> None:
    made = replicas(release="3.7.2")
    assert fire(made, {"upgrade": "3.9"}, ms=60_000).problem is None
    assert made.cluster.controller.image.finalized_features == {"metadata.version": 19}
    assert fire(made, {"finalize": "3.9"}).problem is None
    assert made.cluster.controller.image.finalized_features == {"metadata.version": 21}


def test_a_level_that_is_not_supported_is_the_problem_of_the_rule(
    replicas: Callable[..., Any], fire: Callable[..., Any]
) -> None:
    made = replicas(release="3.7.2")
    assert "Local controller 1 only supports versions 1-19" in fire(made, {"finalize": "3.9"}).problem
