"""The base classes of the harness's errors: input of a user, or the result of a run, that cannot be used."""

from __future__ import annotations

__all__ = ["ClusterGone", "HistoryError", "ScenarioError"]


class ScenarioError(Exception):
    """A scenario, its load or its environment cannot be used; the message names the thing and the remedy."""


class ClusterGone(ScenarioError):
    """The cluster of a run does not respond, or has ended by itself: the run shows nothing about its scenario."""


class HistoryError(ScenarioError):
    """A history breaks its own rules (a completion without an invoke): no verdict can rest on it."""
