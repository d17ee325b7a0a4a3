"""AlterClientQuotas at the controller: check, commit, respond. Mirrors ClientQuotaControlManager (KIP-546).

- An entity twice in one request: the first alteration is made, the response reports the second as a duplicate.
- A quota key twice: the same error text, and nothing is done for the entity.
- The response names the first error in the order of Kafka's tables.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from broker_sim.controller.not_controller import PLAIN_TEXT
from broker_sim.quotas.client_quotas_image import (
    CLIENT_ID,
    IP,
    USER,
    ClientQuotaEntity,
    QuotaChange,
)
from broker_sim.quotas.inet_address import is_address_or_host
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import hash_order_by, string_hash
from protocol_specs.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    ResponseEntryData,
)

if TYPE_CHECKING:
    from broker_sim.controller.controller import Controller
    from broker_sim.quotas.client_quotas_image import ClientQuotasImage
    from protocol_specs.messages.alter_client_quotas import EntryData

__all__ = ["ERROR_TEXTS", "ClientQuotaControl", "alter_client_quotas", "error_response"]

MAX_RECORDS_PER_USER_OP: Final = 10_000

INTEGRAL_LARGEST: Final = {"INT": float(2**31 - 1), "LONG": float(2**63 - 1)}
USER_AND_CLIENT_KEYS: Final = {
    "producer_byte_rate": "LONG",
    "consumer_byte_rate": "LONG",
    "request_percentage": "DOUBLE",
    "controller_mutation_rate": "DOUBLE",
}
IP_KEYS: Final = {"connection_creation_rate": "INT"}
ERROR_TEXTS: Final = {
    ErrorCode.UNKNOWN_SERVER_ERROR: "The server experienced an unexpected error when processing the request.",
    ErrorCode.REQUEST_TIMED_OUT: "The request timed out.",
    ErrorCode.NOT_CONTROLLER: PLAIN_TEXT,
    ErrorCode.POLICY_VIOLATION: "Request parameters do not satisfy the configured policy.",
}
_ALTERATION_TEXTS: Final = {**ERROR_TEXTS, ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed."}
"""DescribeClientQuotas has no text for the last."""
FRACTION_MAX: Final = 1e-6


class ClientQuotaControl:
    """Serves the AlterClientQuotas requests that brokers forward."""

    __slots__ = ("_controller",)

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    def alter(self, request: AlterClientQuotasRequest) -> AlterClientQuotasResponse:
        """Make the valid alterations; the response is made after the commit."""
        response, changes = alter_client_quotas(request, self._controller.image.client_quotas)
        if changes and not request.validate_only:
            self._controller.change(
                "AlterClientQuotas",
                lambda image: replace(image, client_quotas=image.client_quotas.with_changes(changes)),
            )
        return response


def alter_client_quotas(
    request: AlterClientQuotasRequest, image: ClientQuotasImage
) -> tuple[AlterClientQuotasResponse, list[QuotaChange]]:
    """Return the response, and the changes unless the request only validates."""
    changes: list[QuotaChange] = []
    results: dict[frozenset[tuple[str, str | None]], tuple[ClientQuotaEntity, str | None]] = {}
    for entry in request.entries:
        names = {entity.entity_type: entity.entity_name for entity in entry.entity}
        entity = ClientQuotaEntity.of(names, capacity=len(entry.entity))
        twice = len({op.key for op in entry.ops}) < len(entry.ops)
        if twice or entity.key in results:
            first = results.get(entity.key, (entity, None))[0]
            results[entity.key] = first, f"Ignoring duplicate entity {entity}"
        else:
            refusal, made = _alter_entity(entity, entry, image)
            results[entity.key] = entity, refusal
            changes.extend(made)
    if len(changes) > MAX_RECORDS_PER_USER_OP:
        return error_response(request, ErrorCode.POLICY_VIOLATION), []
    ordered = hash_order_by(results.values(), lambda item: item[0].java_hash())
    entries = [
        ResponseEntryData(
            error_code=ErrorCode.NONE if refusal is None else ErrorCode.INVALID_REQUEST,
            error_message=refusal,
            entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity.entries],
        )
        for entity, refusal in ordered
    ]
    return AlterClientQuotasResponse(entries=entries), changes


def error_response(request: AlterClientQuotasRequest, error_code: ErrorCode) -> AlterClientQuotasResponse:
    """The whole request fails: every entry has the error."""
    return AlterClientQuotasResponse(
        entries=[
            ResponseEntryData(
                error_code=error_code, error_message=_ALTERATION_TEXTS.get(error_code), entity=entry.entity
            )
            for entry in request.entries
        ]
    )


def _alter_entity(
    entity: ClientQuotaEntity, entry: EntryData, image: ClientQuotasImage
) -> tuple[str | None, list[QuotaChange]]:
    refusal = _entity_refusal(entity)
    if refusal is not None:
        return refusal, []
    keys = IP_KEYS if IP in entity.names else USER_AND_CLIENT_KEYS
    wanted = {op.key: None if op.remove else op.value for op in entry.ops}
    current = image.quotas_of(entity)
    changes = []
    for key in hash_order_by(wanted, string_hash, capacity=len(entry.ops)):
        value = wanted[key]
        if value is None:
            if key in current:
                changes.append(QuotaChange(entity=entity, key=key, value=None))
            continue
        refusal = _value_refusal(keys, key, value)
        if refusal is not None:
            return refusal, []
        # Through their text, NaN is equal to itself, as Double.equals has it.
        if key not in current or repr(current[key]) != repr(value):
            changes.append(QuotaChange(entity=entity, key=key, value=value))
    return None, changes


def _entity_refusal(entity: ClientQuotaEntity) -> str | None:
    if not entity.entries:
        return "Invalid empty client quota entity"
    for kind, name in entity.entries:
        if kind not in {USER, CLIENT_ID, IP}:
            return f"Unhandled client quota entity type: {kind}"
        if name is not None and not name:
            return f"Empty {kind} not supported"
    names = entity.names
    if IP not in names:
        return None
    if len(names) > 1:
        return "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"
    address = names[IP]
    if address is not None and not is_address_or_host(address):
        return f"{address} is not a valid IP or resolvable host."
    return None


def _value_refusal(keys: dict[str, str], key: str, value: float) -> str | None:
    kind = keys.get(key)
    if kind is None:
        return f"Invalid configuration key {key}"
    if value <= 0:
        return f"Quota {key} must be greater than 0"
    if kind not in INTEGRAL_LARGEST:
        return None
    if value > INTEGRAL_LARGEST[kind]:
        return f"Proposed value for {key} is too large for {'an' if kind == 'INT' else 'a'} {kind}."
    if abs(value % 1.0) > FRACTION_MAX:
        return f"{key} cannot be a fractional value."
    return None
