"""DescribeAcls and DeleteAcls with filters of all kinds, as raw probes see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.differential.acl_requests import (
    ANONYMOUS,
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
    in_order,
)
from tests.differential.case import case

if TYPE_CHECKING:
    from tests.differential.probe import Probe

CLUSTER = "kafka-cluster"


@case(settings=AUTHORIZER)
def filters(probe: Probe) -> None:
    name = probe.name
    entries = [
        acl(T.TOPIC, f"{name}-a", O.READ, principal=OTHER),
        acl(T.TOPIC, f"{name}-a", O.WRITE, principal=OTHER, host="127.0.0.1"),
        acl(T.TOPIC, f"{name}-a", O.WRITE, principal="User:third", permission=DENY),
        acl(T.TOPIC, f"{name}-", O.ALL, principal=OTHER, pattern=P.PREFIXED),
        acl(T.GROUP, f"{name}-a", O.READ, principal=OTHER),
        acl(T.GROUP, name, O.READ, principal=OTHER, pattern=P.PREFIXED),
    ]
    probe.exchange(creating(*entries), 3)
    await_acls(probe, *entries)

    def of_the_case(response: dict[str, Any]) -> dict[str, Any]:
        response["resources"] = [each for each in response["resources"] if each["resourceName"].startswith(name)]
        return in_order(response)

    chosen = [
        acl_filter(),
        acl_filter(T.TOPIC),
        acl_filter(T.TOPIC, f"{name}-a"),
        acl_filter(T.TOPIC, f"{name}-a", pattern=P.LITERAL),
        acl_filter(T.TOPIC, f"{name}-a", pattern=P.PREFIXED),
        acl_filter(T.TOPIC, f"{name}-a", pattern=P.MATCH),
        acl_filter(T.ANY, f"{name}-abc", pattern=P.MATCH),
        acl_filter(T.ANY, f"{name}-", pattern=P.PREFIXED),
        acl_filter(principal=OTHER),
        acl_filter(principal="User:third"),
        acl_filter(principal=ANONYMOUS),
        acl_filter(host="127.0.0.1"),
        acl_filter(host="*"),
        acl_filter(operation=O.WRITE),
        acl_filter(operation=O.ALL),
        acl_filter(permission=DENY),
        acl_filter(T.GROUP, operation=O.READ, principal=OTHER),
        acl_filter(T.CLUSTER),
        acl_filter(T.ANY, ""),
    ]
    for each in chosen:
        probe.exchange(describing(each), 3, only=of_the_case)
    mine = [
        acl_filter(T.TOPIC, f"{name}-a", operation=O.READ),
        acl_filter(T.TOPIC, f"{name}-a", pattern=P.MATCH),
        acl_filter(T.TOPIC, f"{name}-a", pattern=P.LITERAL),
        acl_filter(T.GROUP, f"{name}-none"),
    ]
    probe.exchange(deleting(*mine), 3, only=in_order, note="overlapping filters")
    probe.exchange(deleting(*mine), 3, only=in_order, note="again")
    probe.exchange(deleting(acl_filter(T.ANY, f"{name}-a", pattern=P.MATCH)), 3, only=in_order)
