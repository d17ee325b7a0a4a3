"""DeleteAcls and DescribeAcls with filters that are refused, as raw probes see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.differential.acl_requests import (
    AUTHORIZER,
    O,
    T,
    acl,
    acl_filter,
    creating,
    deleting,
    describing,
    in_order,
)
from tests.differential.case import case
from tests.differential.sasl_exchanges import SETTINGS, Request, exchange_all, handshake

if TYPE_CHECKING:
    from tests.differential.probe import Probe

CLUSTER = "kafka-cluster"


@case(settings=AUTHORIZER)
def refused_filters(probe: Probe) -> None:
    for note, each in (
        ("type 0", acl_filter(0)),
        ("pattern 0", acl_filter(pattern=0)),
        ("operation 0", acl_filter(operation=0)),
        ("permission 0", acl_filter(permission=0)),
        ("type 99", acl_filter(99)),
        ("pattern 99", acl_filter(pattern=99)),
        ("operation 99", acl_filter(operation=99)),
        ("permission 99", acl_filter(permission=99)),
    ):
        probe.exchange(describing(each), 3, note=f"describe {note}")
        probe.exchange(deleting(each), 3, note=f"delete {note}")


@case(settings=AUTHORIZER)
def two_phase_commits(probe: Probe) -> None:
    """The operation came with 4.1: before it its code is unknown."""
    entry = acl(T.TRANSACTIONAL_ID, probe.name, O.TWO_PHASE_COMMIT)
    probe.exchange(creating(entry), 3)
    selecting = acl_filter(T.TRANSACTIONAL_ID, probe.name, operation=O.TWO_PHASE_COMMIT)
    probe.exchange(describing(acl_filter(T.TRANSACTIONAL_ID, "none", operation=O.TWO_PHASE_COMMIT)), 3)
    for version in (1, 2, 3):
        probe.exchange(deleting(acl_filter(T.GROUP, "none"), selecting), version, only=in_order)


@case(settings=SETTINGS)
def unknown_codes_between_tokens(probe: Probe) -> None:
    bent = {
        "type 0": (acl_filter(0), acl(0, "t", O.READ)),
        "pattern 0": (acl_filter(pattern=0), acl(T.TOPIC, "t", O.READ, pattern=0)),
        "operation 0": (acl_filter(operation=0), acl(T.TOPIC, "t", 0)),
        "permission 0": (acl_filter(permission=0), acl(T.TOPIC, "t", O.READ, permission=0)),
        "type 99": (acl_filter(99), acl(99, "t", O.READ)),
    }
    exchange_all(
        probe,
        {
            f"{request.NAME} v{version}, {note}": [handshake(), Request(request, version)]
            for note, (filter_fields, creation) in bent.items()
            for request in (describing(filter_fields), deleting(filter_fields), creating(creation))
            for version in (1, 3)
        },
    )
