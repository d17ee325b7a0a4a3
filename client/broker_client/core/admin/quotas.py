"""Client quotas: describe and alter. Mirrors KafkaAdminClient's calls; KIP-546. Any node serves them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from broker_client.core.admin.calls import AdminCalls, ItemCall, Outcomes
from broker_client.core.admin.routes import ANY
from protocol_specs.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData, OpData
from protocol_specs.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from protocol_specs.messages.describe_client_quotas import DescribeClientQuotasResponse

__all__ = ["QuotaCalls", "QuotaEntity", "QuotaFilter"]

_EXACT: Final = 0
_DEFAULT: Final = 1
_ANY_NAME: Final = 2


@dataclass(slots=True, frozen=True)
class QuotaEntity:
    """The entity of a quota: pairs of type (`user`, `client-id`, `ip`) and name, None for the default one.

    Pairs are in the order of their types. Mirrors ClientQuotaEntity.
    """

    parts: tuple[tuple[str, str | None], ...]

    @classmethod
    def of(cls, parts: Mapping[str, str | None]) -> QuotaEntity:
        """An entity of these types and names."""
        return cls(tuple(sorted(parts.items())))

    def __str__(self) -> str:
        return ",".join(f"{kind}={'<default>' if name is None else name}" for kind, name in self.parts)


@dataclass(slots=True, kw_only=True, frozen=True)
class QuotaFilter:
    """Selects quotas: all types named must fit, and if `strict` there may be no others.

    `exactly` gives the name by type, None for the default; `any_named` are types that may have any name. Mirrors
    ClientQuotaFilter.
    """

    exactly: Mapping[str, str | None] = field(default_factory=dict)
    any_named: Sequence[str] = ()
    strict: bool = False


class QuotaCalls:
    """Call everything on the reactor's thread."""

    _calls: AdminCalls

    async def describe_client_quotas(self, only: QuotaFilter | None = None) -> dict[QuotaEntity, dict[str, float]]:
        """Quotas by entity and name, such as producer_byte_rate in bytes/s; all of them, or those of a filter."""
        wanted = only or QuotaFilter()
        components = [
            ComponentData(entity_type=kind, match_type=_DEFAULT if name is None else _EXACT, match=name)
            for kind, name in wanted.exactly.items()
        ]
        components += [ComponentData(entity_type=kind, match_type=_ANY_NAME, match=None) for kind in wanted.any_named]
        response: DescribeClientQuotasResponse = await self._calls.request(
            DescribeClientQuotasRequest,
            lambda *_: DescribeClientQuotasRequest(components=components, strict=wanted.strict),
            route=ANY,
            error=lambda response: (response.error_code, response.error_message),
        )
        return {
            QuotaEntity.of({part.entity_type: part.entity_name for part in entry.entity}): {
                value.key: value.value for value in entry.values
            }
            for entry in response.entries or ()
        }

    async def alter_client_quotas(
        self, changes: Mapping[QuotaEntity, Mapping[str, float | None]], *, validate_only: bool = False
    ) -> None:
        """Set quotas by entity and name, None: remove; or only try. Raises ItemsFailed by entity."""
        wanted = {QuotaEntity.of(dict(entity.parts)): quotas for entity, quotas in changes.items()}

        def build(version: int, requested: list[QuotaEntity], timeout_ms: int) -> AlterClientQuotasRequest:
            del version, timeout_ms
            return AlterClientQuotasRequest(
                entries=[
                    EntryData(
                        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity.parts],
                        ops=[
                            OpData(key=key, value=0.0 if value is None else value, remove=value is None)
                            for key, value in wanted[entity].items()
                        ],
                    )
                    for entity in requested
                ],
                validate_only=validate_only,
            )

        def take(response: Any, _: list[QuotaEntity], outcomes: Outcomes[QuotaEntity, None]) -> None:
            for entry in response.entries:
                entity = QuotaEntity.of({part.entity_type: part.entity_name for part in entry.entity})
                outcomes.take(entity, entry.error_code, entry.error_message, None)

        call = ItemCall(kind=AlterClientQuotasRequest, route=ANY, build=build, take=take)
        await self._calls.settle(list(wanted), call)
