"""Finds the operation of a method and a path."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import unquote

from broker_sim.errors import nearest
from broker_sim.http_control.problems import HttpError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_sim.http_control.operation import Operation

__all__ = ["Router"]


class Router:
    """The operations by the parts of their paths; `{name}` stands for any part that is not empty."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._routes: dict[tuple[str, ...], dict[str, Operation]] = {}
        for operation in operations:
            methods = self._routes.setdefault(tuple(operation.path.strip("/").split("/")), {})
            assert operation.method not in methods, operation
            methods[operation.method] = operation

    def find(self, method: str, path: str) -> tuple[Operation, dict[str, str]]:
        """Return the operation and the values of its path. Raises HttpError with status 404 or 405."""
        parts = [unquote(part) for part in path.strip("/").split("/")]
        matches = [
            (methods, values)
            for template, methods in self._routes.items()
            if (values := _match(template, parts)) is not None
        ]
        for methods, values in sorted(matches, key=lambda match: len(match[1])):
            if method in methods:
                return methods[method], values
        if matches:
            allowed = ", ".join(dict.fromkeys(name for methods, _ in matches for name in methods))
            problem = f"{method} is not a method of {path}: expected {allowed}"
            raise HttpError(HTTPStatus.METHOD_NOT_ALLOWED, problem, {"Allow": allowed})
        known = ["/" + "/".join(template) for template in self._routes]
        raise HttpError(HTTPStatus.NOT_FOUND, f"there is no path {path}{nearest(path, known)}; see /openapi.json")


def _match(template: tuple[str, ...], parts: list[str]) -> dict[str, str] | None:
    if len(template) != len(parts):
        return None
    values = {}
    for expected, part in zip(template, parts, strict=True):
        if expected.startswith("{"):
            if not part:
                return None
            values[expected[1:-1]] = part
        elif expected != part:
            return None
    return values
