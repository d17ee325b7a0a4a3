"""Delegation tokens in ZooKeeper mode, where any broker serves them. Mirrors DelegationTokenManagerZk (KIP-48)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.controller.token_control import TokenControl
from protocol_specs.messages.create_delegation_token import CreateDelegationTokenRequest
from protocol_specs.messages.expire_delegation_token import ExpireDelegationTokenRequest
from protocol_specs.messages.renew_delegation_token import RenewDelegationTokenRequest

if TYPE_CHECKING:
    from broker_sim.security.delegation_token import DelegationToken

__all__ = ["TOKEN_REQUESTS", "ZooKeeperTokens"]

TOKEN_REQUESTS: Final = (CreateDelegationTokenRequest, RenewDelegationTokenRequest, ExpireDelegationTokenRequest)


class ZooKeeperTokens(TokenControl):
    """As at a KRaft controller, but for the order of the checks of a renewal, and for its period."""

    __slots__ = ()

    def _is_supported(self) -> bool:
        return True

    def _check_renewal(self, token: DelegationToken, requester: str, now_ms: int) -> None:
        self._check_owner(token, requester)
        self._check_alive(token, now_ms)

    def _renewal_ms(self, period_ms: int) -> int:
        return self._expiry_ms if period_ms < 0 else period_ms
