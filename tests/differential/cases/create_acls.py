"""CreateAcls, and the other ACL APIs in every version, as raw probes see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.messages.init_producer_id import InitProducerIdRequest
from tests.differential.acl_requests import (
    AUTHORIZER,
    DENY,
    OTHER,
    O,
    P,
    T,
    acl,
    acl_filter,
    await_acls,
    creating,
    deleting,
    describing,
    give,
    in_order,
)
from tests.differential.case import case
from tests.differential.group_requests import heartbeat
from tests.differential.requests import all_versions, batch, fetch, metadata, produce, wanted

if TYPE_CHECKING:
    from protocol_specs.messages.create_acls import AclCreation
    from tests.differential.probe import Probe

CLUSTER = "kafka-cluster"


@case()
def without_an_authorizer(probe: Probe) -> None:
    for version in all_versions(type(creating())):
        probe.exchange(describing(acl_filter()), version)
        probe.exchange(creating(acl(T.TOPIC, "t", O.READ), acl(T.GROUP, "", O.READ)), version)
        probe.exchange(deleting(acl_filter(), acl_filter(T.TOPIC, "t")), version)


@case()
def at_a_controller_without_an_authorizer(probe: Probe) -> None:
    for request in (describing(acl_filter()), creating(acl(T.TOPIC, "t", O.READ)), deleting(acl_filter())):
        probe.exchange(request, 3, on=probe.connect(listener="CONTROLLER"))


@case(settings=AUTHORIZER)
def every_version(probe: Probe) -> None:
    for version in all_versions(type(creating())):
        name = f"{probe.name}-{version}"
        entry = acl(T.TOPIC, name, O.READ, principal=OTHER)
        created = probe.exchange(creating(entry), version)
        if not isinstance(created, str):
            await_acls(probe, entry)
        mine = acl_filter(T.TOPIC, name, pattern=P.LITERAL)
        probe.exchange(describing(mine), version, only=in_order)
        probe.exchange(deleting(mine), version, only=in_order)


@case(settings=AUTHORIZER)
def refused_entries(probe: Probe) -> None:
    name = probe.name
    entries: list[tuple[str, AclCreation]] = [
        ("another cluster", acl(T.CLUSTER, "other", O.ALTER)),
        ("no name", acl(T.TOPIC, "", O.READ)),
        ("any type", acl(T.ANY, name, O.READ)),
        ("a type that is unknown", acl(99, name, O.READ)),
        ("any pattern", acl(T.TOPIC, name, O.READ, pattern=P.ANY)),
        ("a matching pattern", acl(T.TOPIC, name, O.READ, pattern=P.MATCH)),
        ("an unknown pattern", acl(T.TOPIC, name, O.READ, pattern=99)),
        ("any operation", acl(T.TOPIC, name, O.ANY)),
        ("an unknown operation", acl(T.TOPIC, name, 99)),
        ("any permission", acl(T.TOPIC, name, O.READ, permission=1)),
        ("an unknown permission", acl(T.TOPIC, name, O.READ, permission=99)),
        ("a cluster by prefix", acl(T.CLUSTER, "kafka-", O.ALTER, pattern=P.PREFIXED)),
        ("no name and any operation", acl(T.TOPIC, "", O.ANY)),
        ("any type and any operation", acl(T.ANY, name, O.ANY)),
    ]
    for note, entry in entries:
        probe.exchange(creating(entry), 3, note=note)
    probe.exchange(creating(*(entry for _, entry in entries)), 3, note="all of them")
    for note, entry in (
        ("type 0", acl(0, name, O.READ)),
        ("pattern 0", acl(T.TOPIC, name, O.READ, pattern=0)),
        ("operation 0", acl(T.TOPIC, name, 0)),
        ("permission 0", acl(T.TOPIC, name, O.READ, permission=0)),
    ):
        probe.exchange(creating(entry), 3, note=note)


@case(settings=AUTHORIZER)
def odd_entries_that_are_accepted(probe: Probe) -> None:
    name = probe.name
    entries = [
        acl(T.TOPIC, name, O.CLUSTER_ACTION, principal=OTHER),
        acl(T.GROUP, name, O.IDEMPOTENT_WRITE, principal=OTHER, host="not a host"),
        acl(T.TOPIC, "*", O.WRITE, principal="Group:x", pattern=P.PREFIXED),
        acl(T.USER, name, O.CREATE_TOKENS, principal="User:a:b"),
        acl(T.DELEGATION_TOKEN, name, O.DESCRIBE, principal="User:"),
        acl(T.TRANSACTIONAL_ID, name, O.ALL, principal=":x", host=""),
    ]
    probe.exchange(creating(*entries, *entries), 3, note="each twice")
    probe.exchange(creating(*entries), 3, note="and again")
    await_acls(probe, *entries)
    for entry in entries:
        mine = acl_filter(entry.resource_type, entry.resource_name, pattern=entry.resource_pattern_type)
        probe.exchange(describing(mine), 3, only=in_order)
        probe.exchange(deleting(mine), 3, only=in_order)


@case(settings=AUTHORIZER)
def empty_requests(probe: Probe) -> None:
    probe.exchange(creating(), 3)
    probe.exchange(deleting(), 3)


@case(settings=AUTHORIZER)
def principals_without_a_type(probe: Probe) -> None:
    for principal in ("untyped", "", "User", ":"):
        entry = acl(T.TRANSACTIONAL_ID, probe.name, O.WRITE, principal=principal)
        probe.exchange(creating(entry), 3, note=f"principal {principal!r}")
    probe.exchange(deleting(acl_filter(T.TRANSACTIONAL_ID, probe.name)), 3, only=in_order)


@case(releases=("3.7.2",), settings=(*AUTHORIZER, ("num.io.threads", "4")))
def checks_that_read_a_principal_without_a_type(probe: Probe) -> None:
    topic, other = probe.topic("t"), probe.topic("other")
    group = f"{probe.name}-g"
    entries = [
        acl(T.TOPIC, topic, O.READ, principal="untyped"),
        acl(T.GROUP, group, O.READ, principal="untyped"),
        acl(T.CLUSTER, "kafka-cluster", O.ALL),
        acl(T.CLUSTER, "kafka-cluster", O.IDEMPOTENT_WRITE, permission=DENY),
    ]
    give(probe, *entries)
    for name in (topic, other):
        probe.exchange(metadata(name), 12, note=name)
        probe.exchange(produce(name, batch(b"v")), 8, note=name)
        probe.exchange(fetch(name, wanted()), 12, note=name)
    probe.exchange(metadata(topic, other), 12, note="both")
    probe.exchange(heartbeat(group, 1, "m"), 4)
    probe.exchange(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1_000), 4)
