"""The authentications of one channel: the first one, and those that prolong the session (KIP-368).

Mirrors what KafkaChannel does with its authenticator. A session is prolonged at a random 85 to 95 % of its lifetime,
when the channel is about to send.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.network.sasl.client_authenticator import SaslClientAuthenticator

if TYPE_CHECKING:
    from random import Random

    from broker_client.core.network.sasl.client_authenticator import SaslVersions
    from broker_client.core.network.sasl.login import Login
    from sim_runtime.interfaces import IReactor

__all__ = ["ChannelAuthentication"]

_WINDOW_FACTOR: Final = 0.85
_WINDOW_JITTER: Final = 0.10


class ChannelAuthentication:
    """Times are milliseconds of the reactor's clock."""

    def __init__(self, *, login: Login, client_id: str, random: Random, reactor: IReactor) -> None:
        self.is_running = False
        """True while an exchange is under way."""
        self.is_again = False
        """True from the begin of the first re-authentication on."""
        self._login = login
        self._client_id = client_id
        self._random = random
        self._seconds = reactor.seconds
        self._began_ms = 0
        self._due_ms: int | None = None
        self._authenticator = self._new_authenticator(None)

    def begin(self) -> bytes:
        """Begin the first authentication and return its first frame."""
        self.is_running = True
        self._began_ms = self._now_ms()
        return self._authenticator.begin()

    def begin_again_if_due(self) -> bytes | None:
        """Begin a re-authentication and return its first frame; None if the session lasts."""
        if self._due_ms is None or self._now_ms() < self._due_ms:
            return None
        self.is_again = True
        self._authenticator = self._new_authenticator(self._authenticator.versions)
        return self.begin()

    def is_unrelated(self, payload: bytes) -> bool:
        """True if a frame is no part of the exchange."""
        return not self.is_running or self._authenticator.is_unrelated(payload)

    def receive(self, payload: bytes) -> bytes | None:
        """Take a frame and return the frame that follows; None if none does. At the end `is_running` is False.

        Raises:
            AuthenticationFailed: the broker refuses the client, or the client the broker.
            ConnectionFailed: the broker reports another error, or its response has another correlation id.
        """
        authenticator = self._authenticator
        frame = authenticator.receive(payload)
        if authenticator.is_complete:
            self.is_running = False
            self._due_ms = None
            lifetime_ms = authenticator.session_lifetime_ms
            if lifetime_ms > 0:
                part = _WINDOW_FACTOR + self._random.random() * _WINDOW_JITTER
                self._due_ms = self._now_ms() + int(lifetime_ms * part)
        return frame

    @property
    def took_ms(self) -> int:
        """The time since the latest begin."""
        return self._now_ms() - self._began_ms

    def _new_authenticator(self, versions: SaslVersions | None) -> SaslClientAuthenticator:
        return SaslClientAuthenticator(
            mechanism=self._login.mechanism,
            sasl_client=self._login.sasl_client(self._now_ms(), self._random),
            client_id=self._client_id,
            versions=versions,
        )

    def _now_ms(self) -> int:
        return int(self._seconds() * 1000)
