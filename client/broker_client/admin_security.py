"""The calls of Admin about users, permissions and tokens."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, TypeVar

from broker_client.core.admin.delegation_tokens import BROKERS_PERIOD

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from broker_client.core.admin.acls import AclBinding, AclBindingFilter
    from broker_client.core.admin.admin_core import AdminCore
    from broker_client.core.admin.delegation_tokens import DelegationToken
    from broker_client.core.admin.scram_credentials import ScramCredentialInfo, UserScramCredentialAlteration

__all__ = ["SecurityAdmin"]

T = TypeVar("T")


class SecurityAdmin(ABC):
    """The part of Admin that its docstring describes."""

    _admin: AdminCore

    def describe_user_scram_credentials(
        self, users: Sequence[str] | None = None
    ) -> dict[str, list[ScramCredentialInfo]]:
        """Return mechanisms and iterations by user, of all users or of these; from 2.7 on."""
        return self._call(lambda: self._admin.describe_user_scram_credentials(users))

    def alter_user_scram_credentials(self, alterations: Sequence[UserScramCredentialAlteration]) -> None:
        """Set and delete passwords for SCRAM, one per user; from 2.7 on."""
        self._call(lambda: self._admin.alter_user_scram_credentials(alterations))

    def create_acls(self, acls: Sequence[AclBinding]) -> None:
        """Create access control entries; one that exists stays."""
        self._call(lambda: self._admin.create_acls(acls))

    def describe_acls(self, only: AclBindingFilter | None = None) -> list[AclBinding]:
        """Return access control entries, all of them or those that a filter selects."""
        return self._call(lambda: self._admin.describe_acls(only))

    def delete_acls(self, filters: Sequence[AclBindingFilter]) -> dict[AclBindingFilter, list[AclBinding]]:
        """Delete the access control entries that filters select, and return them by filter."""
        return self._call(lambda: self._admin.delete_acls(filters))

    def create_delegation_token(
        self, *, owner: str | None = None, renewers: Sequence[str] = (), max_lifetime_ms: int = BROKERS_PERIOD
    ) -> DelegationToken:
        """Create a token that lets clients act for this user, or for another `owner` (from 3.3 on); from 1.1 on.

        Principals are texts such as `User:ann`; `renewers` may renew the token besides its owner.

        Raises:
            ConfigError: a principal is no TYPE:NAME.
            UnsupportedVersion: the brokers cannot create tokens for another owner.
        """
        return self._call(
            lambda: self._admin.create_delegation_token(owner=owner, renewers=renewers, max_lifetime_ms=max_lifetime_ms)
        )

    def renew_delegation_token(self, hmac: bytes, *, renew_time_period_ms: int = BROKERS_PERIOD) -> int:
        """Let a token expire later, at most at the end of its lifetime; returns that time in ms; from 1.1 on."""
        return self._call(lambda: self._admin.renew_delegation_token(hmac, renew_time_period_ms=renew_time_period_ms))

    def expire_delegation_token(self, hmac: bytes, *, expiry_time_period_ms: int = BROKERS_PERIOD) -> int:
        """End a token in a period of ms from now, at once without one; returns that time in ms; from 1.1 on."""
        return self._call(
            lambda: self._admin.expire_delegation_token(hmac, expiry_time_period_ms=expiry_time_period_ms)
        )

    def describe_delegation_token(self, owners: Sequence[str] | None = None) -> list[DelegationToken]:
        """Return the tokens that this user may see, of all owners or of these (`User:ann`); from 1.1 on.

        Raises:
            ConfigError: an owner is no TYPE:NAME.
        """
        return self._call(lambda: self._admin.describe_delegation_token(owners))

    @abstractmethod
    def _call(self, call: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a call on the client's thread and return its result."""
