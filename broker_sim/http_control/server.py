"""The HTTP server: a request goes through the guard and the router to its operation, and its result becomes JSON."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

import msgspec
from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Site
from twisted.web.server import Request as SiteRequest

from broker_sim.errors import nearest
from broker_sim.http_control.event_stream import Streamed
from broker_sim.http_control.operation import Call, Operation
from broker_sim.http_control.operations import OPERATIONS
from broker_sim.http_control.problems import MEDIA_TYPE, HttpError, problem_of
from broker_sim.http_control.refused_values import refused_value
from broker_sim.http_control.router import Router

if TYPE_CHECKING:
    from twisted.python.failure import Failure
    from twisted.web.http import Request

    from broker_sim.http_control.clusters import Clusters
    from broker_sim.http_control.guard import Guard

__all__ = ["BODY_MAX_BYTES", "ControlServer"]

BODY_MAX_BYTES: Final = 1 << 20
IDLE_TIMEOUT_S: Final = 60
_PUBLIC: Final = frozenset({"/", "/health"})
"""Served without the token: the page requests it, and a container's health check has none."""

_log = Logger()


class ControlServer:
    """One listener. `url` has the port that the system has chosen."""

    def __init__(self, clusters: Clusters, guard: Guard, *, port: int = 0) -> None:
        site: Any = _site(_Root(clusters, guard))
        self._port: Any = clusters.reactor.listenTCP(port, site, interface=guard.host)
        self._guard = guard

    @property
    def url(self) -> str:
        """The base of all paths, such as http://127.0.0.1:8090."""
        host: str = self._guard.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self._port.getHost().port}"

    def stop(self) -> Deferred[None] | None:
        """Stop listening."""
        stopped: Deferred[None] | None = self._port.stopListening()
        return stopped


def _site(root: Resource) -> Site:
    return _QuietSite(root, requestFactory=_BoundedRequest, timeout=IDLE_TIMEOUT_S)  # type: ignore[no-untyped-call]


class _QuietSite(Site):
    """Keeps no access log: the journal of a cluster is for its own clients, and stderr for problems."""

    def log(self, request: Request) -> None:
        """Do nothing."""


class _BoundedRequest(SiteRequest):
    """Refuses a body that is larger than BODY_MAX_BYTES before it is read whole."""

    _received = 0

    def gotLength(self, length: int | None) -> None:  # noqa: N802 - twisted.web
        """Begin to receive the body."""
        if length is not None and length > BODY_MAX_BYTES:
            self._refuse()
        super().gotLength(length)  # type: ignore[no-untyped-call]

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802 - twisted.web
        """Receive a part of the body."""
        self._received += len(data)
        if self._received > BODY_MAX_BYTES:
            self._refuse()
        else:
            super().handleContentChunk(data)  # type: ignore[no-untyped-call]

    def _refuse(self) -> None:
        transport: Any = self.channel.transport
        transport.write(b"HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        transport.loseConnection()


class _Root(Resource):
    """Serves every path."""

    isLeaf = True  # noqa: N815 - twisted.web

    def __init__(self, clusters: Clusters, guard: Guard) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._clusters = clusters
        self._guard = guard
        self._router = Router(OPERATIONS)

    def render(self, request: Request) -> int:
        """Serve one request; every outcome, an error too, becomes a response."""
        served = Deferred.fromCoroutine(self._serve(request))
        served.addErrback(partial(_send_problem, request))
        return NOT_DONE_YET

    async def _serve(self, request: Request) -> None:
        operation, call = self._call(request)
        result = operation.handle(call)
        if isinstance(result, Deferred):
            # A caller that gives up ends its wait.
            request.notifyFinish().addErrback(_cancel, result)
            result = await result
        if isinstance(result, Streamed):
            return
        if request.finished or request._disconnected:  # noqa: SLF001 - twisted.web has no public name for it
            return
        request.setResponseCode(operation.status)
        if operation.status == HTTPStatus.NO_CONTENT:
            request.finish()
            return
        data = result.encode() if isinstance(result, str) else msgspec.json.encode(result)
        _send(request, data, operation.media_type)

    def _call(self, request: Request) -> tuple[Operation, Call]:
        self._guard.check_source(request)
        path = request.path.decode("ascii", "replace")
        if path not in _PUBLIC:
            self._guard.check_token(request)
        method = request.method.decode("ascii", "replace")
        operation, values = self._router.find("GET" if method == "HEAD" else method, path)
        if operation.media_type == "text/event-stream":
            request.setHeader("Content-Type", operation.media_type)
        return operation, Call(
            clusters=self._clusters,
            request=request,
            path=values,
            query=_query(request, operation),
            body=_body(request, operation),
        )


def _cancel(_: Failure, waiting: Deferred[Any]) -> None:
    waiting.cancel()


def _query(request: Request, operation: Operation) -> Any:
    # Not `request.args`: it has the fields of a form too, and curl and others send JSON as one.
    text = request.uri.decode("ascii", "replace").partition("?")[2]
    given: dict[str, str] = {}
    for name, value in parse_qsl(text, keep_blank_values=True):
        if name in given:
            raise HttpError(HTTPStatus.BAD_REQUEST, f"{name}: given twice")
        given[name] = value
    if operation.query is None:
        if given:
            raise HttpError(HTTPStatus.BAD_REQUEST, f"{next(iter(given))}: {operation.name} has no query parameters")
        return None
    return _converted(given, operation.query, "the query", "query parameter", strict=False)


def _body(request: Request, operation: Operation) -> Any:
    content: Any = request.content
    data: bytes = content.read()
    if operation.body is None:
        if data:
            raise HttpError(HTTPStatus.BAD_REQUEST, f"{operation.name} has no body; {len(data)} bytes came")
        return None
    if not data:
        if operation.body_is_optional:
            return None
        raise HttpError(HTTPStatus.BAD_REQUEST, f"{operation.name} needs a body in JSON")
    try:
        decoded = msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise HttpError(HTTPStatus.BAD_REQUEST, f"the body is not JSON: {error}") from None
    return _converted(decoded, operation.body, "the body", "key", strict=True)


def _converted(value: Any, kind: Any, whole: str, noun: str, *, strict: bool) -> Any:
    """Return `value` as the type `kind`. An unknown key is refused with the nearest one that exists."""
    known = getattr(kind, "__dataclass_fields__", None)
    if known is not None and isinstance(value, dict):
        for name in value:
            if name not in known:
                expected = f"expected {', '.join(known)}"
                raise HttpError(HTTPStatus.BAD_REQUEST, f"unknown {noun} {name!r}{nearest(name, known)}; {expected}")
    try:
        return msgspec.convert(value, kind, strict=strict)
    except msgspec.ValidationError as error:
        refused = refused_value(str(error), value)
        where = refused.path or whole
        raise HttpError(HTTPStatus.BAD_REQUEST, f"{where}: {refused.problem}", path=refused.path or None) from None


def _send_problem(request: Request, failure: Failure) -> None:
    error: Any = failure.value
    if isinstance(error, CancelledError):
        return  # the caller has closed the connection
    problem = problem_of(error)
    if problem.status == HTTPStatus.INTERNAL_SERVER_ERROR:
        uri = request.uri.decode("ascii", "replace")
        _log.failure("control: a request failed uri={uri}", failure, uri=uri)
    if request.finished or request._disconnected:  # noqa: SLF001 - twisted.web has no public name for it
        return
    request.setResponseCode(problem.status)
    for name, value in getattr(error, "headers", {}).items():
        request.setHeader(name, value)
    _send(request, msgspec.json.encode(problem), MEDIA_TYPE)


def _send(request: Request, data: bytes, media_type: str) -> None:
    request.setHeader("Content-Type", media_type)
    request.setHeader("Content-Length", str(len(data)))
    request.setHeader("X-Content-Type-Options", "nosniff")
    if request.method != b"HEAD":
        request.write(data)
    request.finish()
