"""Errors of calls as problems of RFC 9457: status, title, and a detail that names the value and what was expected."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from broker_sim.errors import BrokerSimError
from broker_sim.faults.rule import RuleError
from broker_sim.http_control.operation import UnknownName
from protocol_specs.errors import ProtocolError
from sim_runtime.deadlines import DeadlineExceeded
from sim_runtime.errors import SimRuntimeError

__all__ = ["MEDIA_TYPE", "HttpError", "Problem", "problem_of"]

MEDIA_TYPE: Final = "application/problem+json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """An error. `path` leads to the key of the body that is wrong, such as `act.kill`.

    `error` is the detail again, as clients of Toxiproxy read it.
    """

    status: int
    title: str
    detail: str
    error: str
    path: str | None = None


class HttpError(BrokerSimError):
    """A request that is refused before an operation has it, with its status."""

    def __init__(
        self, status: HTTPStatus, detail: str, headers: dict[str, str] | None = None, *, path: str | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.path = path
        self.headers = headers or {}


def problem_of(error: BaseException) -> Problem:
    """Return the problem of an error; one that is not a caller's becomes status 500 without its text."""
    path = None
    if isinstance(error, HttpError):
        status, path = error.status, error.path
    elif isinstance(error, UnknownName):
        status = HTTPStatus.NOT_FOUND
    elif isinstance(error, DeadlineExceeded):
        status = HTTPStatus.GATEWAY_TIMEOUT
    elif isinstance(error, BrokerSimError | ProtocolError | SimRuntimeError):
        status = HTTPStatus.BAD_REQUEST
        if isinstance(error, RuleError):
            path = ".".join(map(str, error.path)) or None
    else:
        status = HTTPStatus.INTERNAL_SERVER_ERROR
    detail = "a defect of broker-sim: its log has the traceback" if status >= 500 and path is None else str(error)
    if isinstance(error, DeadlineExceeded):
        detail = f"waited {error.waited_ms:g} ms for {error.awaited}; timeout_ms allows longer"
    return Problem(status=status, title=status.phrase, detail=detail, error=detail, path=path)
