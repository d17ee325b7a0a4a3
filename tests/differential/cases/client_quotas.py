"""AlterClientQuotas and DescribeClientQuotas, as raw probes see them; each case leaves no quota behind."""

from __future__ import annotations

import math
from itertools import permutations
from typing import TYPE_CHECKING, Any

from protocol_specs.messages import alter_client_quotas as alter_messages
from protocol_specs.messages.alter_client_quotas import AlterClientQuotasRequest, EntryData, OpData
from protocol_specs.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from tests.differential.case import case
from tests.differential.probe import attempts
from tests.differential.requests import all_versions

if TYPE_CHECKING:
    from tests.differential.probe import Probe

EXACT, DEFAULT, SPECIFIED = 0, 1, 2
Entity = tuple[tuple[str, str | None], ...]


def entry(*entity: tuple[str, str | None], remove: tuple[str, ...] = (), **quotas: float) -> EntryData:
    """Quotas of one entity: to set, by name, and to remove."""
    return EntryData(
        entity=[alter_messages.EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
        ops=[
            *(OpData(key=key, value=value, remove=False) for key, value in quotas.items()),
            *(OpData(key=key, value=0.0, remove=True) for key in remove),
        ],
    )


def ops(*pairs: tuple[str, float], on: Entity) -> EntryData:
    """Any operations, in this order."""
    each = entry(*on)
    each.ops = [OpData(key=key, value=value, remove=False) for key, value in pairs]
    return each


def alter(*entries: EntryData, validate_only: bool = False) -> AlterClientQuotasRequest:
    """A request to alter."""
    return AlterClientQuotasRequest(entries=list(entries), validate_only=validate_only)


def component(kind: str, match_type: int = EXACT, match: str | None = None) -> ComponentData:
    """One component of a filter."""
    return ComponentData(entity_type=kind, match_type=match_type, match=match)


def describe(*components: ComponentData, strict: bool = False) -> DescribeClientQuotasRequest:
    """A request to describe."""
    return DescribeClientQuotasRequest(components=list(components), strict=strict)


def shown(probe: Probe, *entity: tuple[str, str | None]) -> dict[str, float]:
    """The quotas that the broker shows of one entity."""
    components = [component(kind, DEFAULT if name is None else EXACT, name) for kind, name in entity]
    response: Any = probe.quiet(describe(*components, strict=True), 1)
    return {value.key: value.value for each in response.entries for value in each.values}


def settle(probe: Probe, wanted: dict[Entity, dict[str, float]]) -> None:
    """Alter without writing it down, to exactly these quotas, and wait until the broker shows them."""
    entries = []
    for entity, quotas in wanted.items():
        gone = tuple(key for key in shown(probe, *entity) if key not in quotas)
        entries.append(entry(*entity, remove=gone, **quotas))
    response: Any = probe.quiet(alter(*entries), 1)
    assert all(each.error_code == 0 for each in response.entries), response
    await_shown(probe, wanted)


def await_shown(probe: Probe, wanted: dict[Entity, dict[str, float]]) -> None:
    """Wait until the broker shows exactly these quotas."""
    for entity, quotas in wanted.items():
        for _ in attempts(f"the quotas {quotas} of {entity}"):
            if repr(sorted(shown(probe, *entity).items())) == repr(sorted(quotas.items())):
                break


@case()
def every_version(probe: Probe) -> None:
    user = (("user", probe.name),)
    for version in all_versions(AlterClientQuotasRequest):
        probe.exchange(alter(entry(*user, producer_byte_rate=1000.0 + version)), version)
    await_shown(probe, {user: {"producer_byte_rate": 1001.0}})
    for version in all_versions(DescribeClientQuotasRequest):
        probe.exchange(describe(component("user", EXACT, probe.name)), version)
    settle(probe, {user: {}})
    for version in all_versions(DescribeClientQuotasRequest):
        probe.exchange(describe(component("user", EXACT, probe.name)), version)
        probe.exchange(describe(), version)


@case()
def every_quota_of_every_entity(probe: Probe) -> None:
    name = probe.name
    keys = ["producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate"]
    keys += ["connection_creation_rate", "leader.replication.throttled.rate", "SCRAM-SHA-256", "SCRAM-SHA-512"]
    for entity in (
        (("user", name),),
        (("client-id", name),),
        (("user", name), ("client-id", name)),
        (("ip", "10.9.8.7"),),
        (("user", None),),
        (("client-id", None),),
        (("user", None), ("client-id", None)),
        (("user", name), ("client-id", None)),
        (("user", None), ("client-id", name)),
        (("ip", None),),
    ):
        for key in keys:
            probe.exchange(alter(entry(*entity, **{key: 5.0}), validate_only=True), 1, note=key)


@case()
def values(probe: Probe) -> None:
    user = (("user", probe.name),)
    numbers = [0.0, -0.0, -1.0, 0.1, 0.5, 1.5, 1.0000001, 1.00001, 1e-300, 2147483647.0, 2147483648.0, 9.3e18, 1e300]
    numbers += [9223372036854775807.0, math.inf, -math.inf, math.nan]
    for number in numbers:
        for key in ("producer_byte_rate", "request_percentage"):
            probe.exchange(alter(entry(*user, **{key: number}), validate_only=True), 1, note=f"{key} {number}")
        ip = entry(("ip", "10.9.8.7"), connection_creation_rate=number)
        probe.exchange(alter(ip, validate_only=True), 1, note=f"ip {number}")


@case()
def entities_that_are_wrong(probe: Probe) -> None:
    name = probe.name
    for entity in (
        (),
        (("", name),),
        (("zzz", name),),
        (("User", name),),
        (("user", ""),),
        (("client-id", ""),),
        (("ip", ""),),
        (("user", name), ("ip", "10.0.0.1")),
        (("client-id", name), ("ip", "10.0.0.1")),
        (("user", name), ("client-id", name), ("ip", "10.0.0.1")),
        (("user", name), ("zzz", name)),
        (("zzz", name), ("client-id", "")),
        (("user", ""), ("client-id", "")),
        (("user", name), ("user", f"{name}-2")),
        (("user", name), ("user", name)),
        (("user", None), ("user", name)),
        (("zzz", None),),
        (("user", "x" * 300),),
        (("user", "ä ö/%"),),
    ):
        for version in (0, 1):
            wanted = entry(*entity, producer_byte_rate=5.0)
            probe.exchange(alter(wanted, validate_only=True), version, note=repr(entity)[:60])
        probe.exchange(alter(entry(*entity, zzz=5.0), validate_only=True), 1, note="and an unknown key")
        probe.exchange(alter(entry(*entity), validate_only=True), 1, note="and no operation")


@case()
def addresses(probe: Probe) -> None:
    for address in ("127.0.0.1", "::1", "[::1]", "2001:db8::1", "fe80::1%lo", "10.1", "10", "1.2.3.4.5", "256.1.1.1"):
        wanted = entry(("ip", address), connection_creation_rate=5.0)
        probe.exchange(alter(wanted, validate_only=True), 1, note=address)
    for address in ("localhost", "1.2.3.", "::g", ":", "10.0.0.1/8", "a b", "4294967296", "4294967295", "0x7f.1"):
        wanted = entry(("ip", address), connection_creation_rate=5.0)
        probe.exchange(alter(wanted, validate_only=True), 1, note=address)


@case()
def operations_that_are_wrong(probe: Probe) -> None:
    user = (("user", probe.name),)
    for pairs in (
        [("producer_byte_rate", 1.0), ("producer_byte_rate", 2.0)],
        [("producer_byte_rate", 1.0), ("zzz", 2.0)],
        [("zzz", 2.0), ("producer_byte_rate", 0.0)],
        [("producer_byte_rate", 0.0), ("zzz", 2.0)],
        [("a", 1.0), ("b", 1.0), ("c", 1.0)],
        [("c", 1.0), ("b", 1.0), ("a", 1.0)],
        [("producer_byte_rate", -1.0), ("consumer_byte_rate", 0.5), ("request_percentage", 0.0)],
        [("request_percentage", 0.0), ("consumer_byte_rate", 0.5), ("producer_byte_rate", -1.0)],
        [("", 1.0)],
        [("PRODUCER_BYTE_RATE", 1.0)],
        [("zzz", 1.0), ("zzz", 1.0)],
    ):
        probe.exchange(alter(ops(*pairs, on=user), validate_only=True), 1, note=repr(pairs))
    probe.exchange(alter(entry(*user, remove=("zzz",))), 1, note="an unknown key is removed")
    probe.exchange(alter(entry(*user, remove=("producer_byte_rate",))), 1, note="what is not there is removed")
    probe.exchange(alter(entry(*user, remove=("producer_byte_rate", "producer_byte_rate"))), 1, note="removed twice")
    probe.exchange(
        alter(entry(*user, remove=("producer_byte_rate",), producer_byte_rate=5.0)), 1, note="set and removed"
    )
    probe.exchange(describe(component("user", EXACT, probe.name)), 1)


@case()
def several_quotas_at_once(probe: Probe) -> None:
    """The order of the values is that of hash tables: of the changes in one request, then of the entity's quotas."""
    names = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
    for number, order in enumerate(permutations(names, 3)):
        user = (("user", f"{probe.name}-{number}"),)
        settle(probe, {user: {name: 1.0 + place for place, name in enumerate(order)}})
        probe.exchange(describe(component("user", EXACT, user[0][1])), 1, note=f"set {order}")
        left = next(name for name in names if name not in order)
        settle(probe, {user: {order[0]: 9.0, left: 4.0, order[2]: 3.0}})
        probe.exchange(describe(component("user", EXACT, user[0][1])), 1, note=f"{order[1]} removed, {left} set")
        settle(probe, {user: {}})


@case()
def the_same_entity_twice(probe: Probe) -> None:
    user, both = (("user", probe.name),), (("user", probe.name), ("client-id", probe.name))
    first = entry(*user, producer_byte_rate=1.0)
    second = entry(*user, consumer_byte_rate=2.0)
    probe.exchange(alter(first, second), 1)
    await_shown(probe, {user: {"producer_byte_rate": 1.0}})
    probe.exchange(alter(first, second, entry(*user, zzz=2.0), entry(("client-id", probe.name), zzz=1.0)), 1)
    turned = entry(*reversed(both), producer_byte_rate=2.0)
    probe.exchange(alter(entry(*both, producer_byte_rate=1.0), turned), 1)
    await_shown(probe, {both: {"producer_byte_rate": 1.0}})
    settle(probe, {user: {}, both: {}})


@case()
def good_and_bad_entries_together(probe: Probe) -> None:
    users = [f"{probe.name}-{number}" for number in range(6)]
    entries = [entry(("user", user), producer_byte_rate=float(number)) for number, user in enumerate(users)]
    probe.exchange(alter(*entries, entry(("zzz", "a"), producer_byte_rate=1.0), entry()), 1)
    await_shown(probe, {(("user", user),): {"producer_byte_rate": float(n)} for n, user in enumerate(users) if n})
    for user in users:
        probe.exchange(describe(component("user", EXACT, user)), 1)
    probe.exchange(describe(component("user", SPECIFIED)), 1)
    settle(probe, {(("user", user),): {} for user in users})


@case()
def validate_only_changes_nothing(probe: Probe) -> None:
    user = (("user", probe.name),)
    for version in (0, 1):
        probe.exchange(alter(entry(*user, producer_byte_rate=5.0), validate_only=True), version)
    settle(probe, {user: {"consumer_byte_rate": 2.0}})
    probe.exchange(alter(entry(*user, remove=("consumer_byte_rate",)), validate_only=True), 1)
    probe.exchange(describe(component("user", EXACT, probe.name)), 1)
    settle(probe, {user: {}})


@case()
def nothing_to_alter(probe: Probe) -> None:
    for version in (0, 1):
        probe.exchange(alter(), version)
        probe.exchange(alter(validate_only=True), version)
        probe.exchange(alter(entry(("user", probe.name))), version)


@case()
def values_are_kept_as_they_are(probe: Probe) -> None:
    user = (("user", probe.name),)
    for quotas in (
        {"request_percentage": 0.1, "controller_mutation_rate": math.nan},
        {"request_percentage": math.inf, "controller_mutation_rate": 1e-300},
        {"producer_byte_rate": 1.0000001, "consumer_byte_rate": 9.2e18},
    ):
        settle(probe, {user: quotas})
        for version in (0, 1):
            probe.exchange(describe(component("user", EXACT, probe.name)), version)
    settle(probe, {user: {}})


@case()
def removing_one_of_several(probe: Probe) -> None:
    user = (("user", probe.name),)
    every = {
        "producer_byte_rate": 1.0,
        "consumer_byte_rate": 2.0,
        "request_percentage": 3.0,
        "controller_mutation_rate": 4.0,
    }
    settle(probe, {user: every})
    probe.exchange(describe(component("user", EXACT, probe.name)), 1)
    while every:
        del every[next(iter(every))]
        settle(probe, {user: every})
        probe.exchange(describe(component("user", EXACT, probe.name)), 1)


@case()
def filters(probe: Probe) -> None:
    names: list[str | None] = [f"{probe.name}-a", f"{probe.name}-b", None]
    quotas: dict[Entity, dict[str, float]] = {}
    for user in names:
        quotas[(("user", user),)] = {"consumer_byte_rate": 1e9}
        quotas[(("client-id", user),)] = {"consumer_byte_rate": 2e9, "request_percentage": 20000.0}
        for client in names:
            quotas[(("user", user), ("client-id", client))] = {"producer_byte_rate": 1e9}
    quotas[(("ip", "10.9.8.7"),)] = quotas[(("ip", None),)] = {"connection_creation_rate": 1e6}
    settle(probe, quotas)
    options = [(SPECIFIED, None), (DEFAULT, None), (EXACT, names[0]), (EXACT, "missing")]
    for strict in (False, True):
        probe.exchange(describe(strict=strict), 1)
        for kind, match in options:
            for entity_type in ("user", "client-id"):
                probe.exchange(describe(component(entity_type, kind, match), strict=strict), 1)
            for other, also in options:
                both = component("user", kind, match), component("client-id", other, also)
                probe.exchange(describe(*both, strict=strict), 1)
        probe.exchange(describe(component("ip", SPECIFIED), strict=strict), 1)
        probe.exchange(describe(component("ip", DEFAULT), strict=strict), 1)
        probe.exchange(describe(component("ip", EXACT, "10.9.8.7"), strict=strict), 0)
    settle(probe, {entity: {} for entity in quotas})


@case()
def filters_that_are_wrong(probe: Probe) -> None:
    for components in (
        [component("", EXACT, "a")],
        [component("zzz", EXACT, "a")],
        [component("User", EXACT, "a")],
        [component("user", EXACT)],
        [component("user", DEFAULT, "a")],
        [component("user", SPECIFIED, "a")],
        [component("user", 3)],
        [component("user", -1, "a")],
        [component("user", 127, "a")],
        [component("user", EXACT, "a"), component("user", EXACT, "b")],
        [component("user", EXACT, "a"), component("user", SPECIFIED)],
        [component("user", SPECIFIED), component("user", DEFAULT)],
        [component("user", EXACT, "a"), component("ip", EXACT, "10.0.0.1")],
        [component("client-id", SPECIFIED), component("ip", SPECIFIED)],
        [component("ip", EXACT, "not an address")],
        [component("zzz", 9), component("", 9)],
        [component("", 9), component("zzz", 9)],
        [component("user", 9), component("zzz", 9)],
        [component("zzz", EXACT, "a"), component("zzz", EXACT, "a")],
        [component("user", EXACT, "")],
        [component("user", EXACT, "x" * 300)],
        [component("ip", DEFAULT)],
    ):
        for version in (0, 1):
            for strict in (False, True):
                note = ", ".join(f"{each.entity_type} {each.match_type} {each.match}" for each in components)[:80]
                probe.exchange(describe(*components, strict=strict), version, note=note)


@case()
def bodies_that_are_wrong(probe: Probe) -> None:
    for version, body, note in (
        (0, b"", "empty"),
        (0, b"\xff\xff\xff\xff\0", "null components"),
        (0, b"\0\0\0\1\xff\xff\0\xff\xff\0", "null entity type"),
        (0, b"\0\0\0\0", "no flag"),
        (0, b"\0\0\0\0\2", "a flag of 2"),
        (0, b"\0\0\0\0\0more", "more bytes"),
        (0, b"\x7f\xff\xff\xff\0", "2**31-1 components"),
        (1, b"\0\0\0", "null components"),
        (1, b"\1\0\0", "right"),
        (1, b"\2\0\0\0\0\0\0", "null entity type"),
    ):
        probe.raw_body(48, version, body, note=note)
    for version, body, note in (
        (0, b"", "empty"),
        (0, b"\xff\xff\xff\xff\0", "null entries"),
        (0, b"\0\0\0\1\xff\xff\xff\xff\0\0\0\0\0", "null entity"),
        (0, b"\0\0\0\1\0\0\0\0\xff\xff\xff\xff\0", "null operations"),
        (0, b"\0\0\0\1\0\0\0\1\xff\xff\xff\xff\0\0\0\0\0", "null entity type"),
        (0, b"\0\0\0\0", "no flag"),
        (0, b"\0\0\0\0\0more", "more bytes"),
        (1, b"\0\0\0", "null entries"),
        (1, b"\1\0\0", "right"),
    ):
        probe.raw_body(49, version, body, note=note)
