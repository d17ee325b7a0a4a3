from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from broker_sim.http_control.clusters import Clusters
from broker_sim.http_control.guard import Guard
from broker_sim.http_control.server import ControlServer
from sim_runtime.reactor_thread import ReactorThread

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SECONDS_MAX = 30


@dataclass
class Response:
    """One response: `json` is its body."""

    status: int
    text: str
    headers: Mapping[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.text)


@dataclass
class Control:
    """A control server, and a client of it that speaks plain HTTP."""

    url: str
    token: str | None = None
    headers: dict[str, str] = field(default_factory=dict)

    def call(self, method: str, path: str, body: Any = None, *, data: bytes | None = None, **headers: str) -> Response:
        if body is not None:
            data = json.dumps(body).encode()
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        request = Request(self.url + path, data=data, method=method, headers=given)
        try:
            with urlopen(request, timeout=SECONDS_MAX) as response:
                return Response(response.status, response.read().decode(), dict(response.headers))
        except HTTPError as error:
            return Response(error.code, error.read().decode(), dict(error.headers))

    def get(self, path: str, **headers: str) -> Any:
        """Return the body of a response that is no problem."""
        response = self.call("GET", path, **headers)
        assert response.status == 200, response
        return response.json

    def post(self, path: str, body: Any = None) -> Any:
        """Return the body of a response that is no problem; None if there is none."""
        response = self.call("POST", path, body)
        assert response.status in {200, 201, 204}, response
        return response.json if response.text else None

    def new_cluster(self, **shape: Any) -> str:
        """Start a cluster and return the path of it."""
        return f"/clusters/{self.post('/clusters', shape)['name']}"


@contextmanager
def serving(guard: Guard) -> Iterator[Control]:
    """A server without clusters on a reactor thread of its own."""
    with ReactorThread("control") as thread:
        clusters = Clusters(thread.reactor)
        server: ControlServer = thread.call(lambda: ControlServer(clusters, guard))
        try:
            yield Control(server.url, guard.token)
        finally:
            thread.call(clusters.close_all)
            thread.call(server.stop)


@pytest.fixture(scope="module")
def control() -> Iterator[Control]:
    with serving(Guard("127.0.0.1")) as found:
        yield found
