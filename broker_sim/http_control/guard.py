"""The conditions under which a request is served: the token, and a Host and an Origin that are the server's own.

A page of a foreign site can send requests to an address of this machine. Its browser states the site in `Origin`, and
after DNS rebinding in `Host`: both are refused.
"""

from __future__ import annotations

import hmac
import ipaddress
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from broker_sim.errors import BrokerSimError
from broker_sim.http_control.problems import HttpError

if TYPE_CHECKING:
    from twisted.web.http import Request

__all__ = ["TOKEN_MIN", "Guard", "is_loopback"]

TOKEN_MIN: Final = 16
"""The shortest token, in characters."""
LOCAL_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def is_loopback(host: str) -> bool:
    """Return True if an address to bind is reachable from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Guard:
    """The conditions of one server; without a token it must listen on loopback."""

    host: str
    token: str | None = None

    def __post_init__(self) -> None:
        if self.token is None and not is_loopback(self.host):
            problem = f"--control {self.host}: other machines can reach this address; expected --control-token-file"
            raise BrokerSimError(problem)
        if self.token is not None and len(self.token) < TOKEN_MIN:
            raise BrokerSimError(
                f"--control-token-file: the token has {len(self.token)} characters, not {TOKEN_MIN} or more"
            )

    def check_source(self, request: Request) -> None:
        """Check Host and Origin. Raises HttpError with status 403 or 421."""
        host = request.getHeader("Host") or ""
        name = urlsplit(f"//{host}").hostname or ""
        if is_loopback(self.host) and name not in LOCAL_NAMES and name != self.host:
            problem = f"Host {host!r} is not this server: expected one of {', '.join(sorted(LOCAL_NAMES))}"
            raise HttpError(HTTPStatus.MISDIRECTED_REQUEST, problem)
        origin = request.getHeader("Origin")
        if origin is not None and urlsplit(origin).netloc != host:
            raise HttpError(HTTPStatus.FORBIDDEN, f"Origin {origin!r} is a foreign site")

    def check_token(self, request: Request) -> None:
        """Check the token. Raises HttpError with status 401."""
        if self.token is None:
            return
        kind, _, given = (request.getHeader("Authorization") or "").partition(" ")
        if kind.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), self.token.encode()):
            headers = {"WWW-Authenticate": "Bearer"}
            raise HttpError(HTTPStatus.UNAUTHORIZED, "expected the header Authorization: Bearer TOKEN", headers)
