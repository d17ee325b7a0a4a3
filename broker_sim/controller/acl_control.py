"""CreateAcls and DeleteAcls at the controller: check, commit, respond. Mirrors AclControlManager (KIP-801).

An entry that exists is created again without a record. The deletions of a request are committed together.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from broker_sim.config.api_error import ApiError
from broker_sim.security.acl import (
    CLUSTER_NAME,
    Acl,
    AclFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from protocol_specs.error_codes import ErrorCode
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from broker_sim.controller.controller import Controller

__all__ = ["AclControl", "DeletedAcls"]

RECORDS_MAX: Final = 10_000
"""QuorumController.MAX_RECORDS_PER_USER_OP."""
RESERVED_IDS_END: Final = 100
"""Ids below this number are reserved: Uuid.RESERVED."""


class DeletedAcls(NamedTuple):
    """The result of one filter: the entries that are deleted, or an error."""

    error: ApiError
    acls: tuple[Acl, ...] = ()


class AclControl:
    """Serves the CreateAcls and DeleteAcls requests that brokers forward."""

    __slots__ = ("_controller", "_random", "_types_are_checked")

    def __init__(self, controller: Controller, *, random: Random, types_are_checked: bool) -> None:
        """`types_are_checked` refuses principals without a type, as 4.x does."""
        self._controller = controller
        self._random = random
        self._types_are_checked = types_are_checked

    def create(self, creations: Sequence[Acl]) -> list[ApiError]:
        """Create the valid entries; return one result per entry."""
        image = self._controller.image
        existing = set(image.acls.values())
        added: dict[bytes, Acl] = {}
        results = []
        for acl in creations:
            refusal = self._refusal(acl)
            if refusal is None and acl not in existing:
                existing.add(acl)
                added[self._new_id(image.acls.keys() | added.keys())] = acl
            results.append(
                ApiError(ErrorCode.NONE, "") if refusal is None else ApiError(ErrorCode.INVALID_REQUEST, refusal)
            )
        if added:
            self._controller.change("CreateAcls", lambda image: replace(image, acls={**image.acls, **added}))
        return results

    def delete(self, filters: Sequence[AclFilter]) -> list[DeletedAcls]:
        """Delete the entries that any of the filters selects; return one result per filter."""
        acls = self._controller.image.acls
        removed: dict[bytes, None] = {}
        results = []
        for each in filters:
            refusal = _filter_refusal(each)
            if refusal is not None:
                results.append(DeletedAcls(ApiError(ErrorCode.INVALID_REQUEST, refusal)))
                continue
            matching = {acl_id: acl for acl_id, acl in acls.items() if each.matches(acl)}
            removed |= dict.fromkeys(matching)
            results.append(DeletedAcls(ApiError(ErrorCode.NONE), tuple(matching.values())))
        if removed:
            self._controller.change(
                "DeleteAcls",
                lambda image: replace(
                    image, acls={acl_id: acl for acl_id, acl in image.acls.items() if acl_id not in removed}
                ),
            )
        return results

    def _new_id(self, taken: set[bytes]) -> bytes:
        while True:
            acl_id = self._random.randbytes(len(ZERO_UUID))
            if acl_id not in taken and int.from_bytes(acl_id) >= RESERVED_IDS_END:
                return acl_id

    def _refusal(self, acl: Acl) -> str | None:
        if acl.resource_type is ResourceType.CLUSTER and acl.resource_name != CLUSTER_NAME:
            return f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
        if not acl.resource_name:
            return "Invalid empty resource name"
        for name, value in (
            ("resourceType", acl.resource_type),
            ("patternType", acl.pattern_type),
            ("operation", acl.operation),
            ("permissionType", acl.permission_type),
        ):
            if not value:
                return f"Invalid {name} {value.name}"
        if self._types_are_checked and ":" not in acl.principal:
            return (
                f"Could not parse principal from `{acl.principal}` "
                "(no colon is present separating the principal type from the principal name)"
            )
        return None


def _filter_refusal(acl_filter: AclFilter) -> str | None:
    if acl_filter.resource_type is ResourceType.UNKNOWN or acl_filter.pattern_type is PatternType.UNKNOWN:
        return "Unknown patternFilter."
    if acl_filter.operation is AclOperation.UNKNOWN or acl_filter.permission_type is AclPermissionType.UNKNOWN:
        return "Unknown entryFilter."
    return None
