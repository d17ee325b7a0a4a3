from __future__ import annotations

from http import HTTPStatus

import pytest

from broker_sim.http_control.operation import Operation
from broker_sim.http_control.problems import HttpError
from broker_sim.http_control.router import Router


def operation(method: str, path: str) -> Operation:
    return Operation(method=method, path=path, name=f"{method} {path}", summary="", handle=lambda _: None)


ROUTER = Router([operation("GET", "/a"), operation("GET", "/a/{x}"), operation("POST", "/a/{x}/b")])


def test_a_part_of_the_path_is_a_value() -> None:
    assert ROUTER.find("POST", "/a/1%2F2/b")[1] == {"x": "1/2"}
    assert ROUTER.find("GET", "/a/")[0].path == "/a"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/b", HTTPStatus.NOT_FOUND),
        ("GET", "/a//b", HTTPStatus.NOT_FOUND),
        ("GET", "/a/1/c", HTTPStatus.NOT_FOUND),
        ("DELETE", "/a/1", HTTPStatus.METHOD_NOT_ALLOWED),
    ],
)
def test_others_are_refused(method: str, path: str, status: HTTPStatus) -> None:
    with pytest.raises(HttpError) as refused:
        ROUTER.find(method, path)
    assert refused.value.status == status
