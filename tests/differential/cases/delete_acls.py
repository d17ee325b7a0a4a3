"""DeleteAcls and DescribeAcls with filters that are refused, as raw probes see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.differential.acl_requests import (
    AUTHORIZER,
    acl_filter,
    deleting,
    describing,
)
from tests.differential.case import case

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
