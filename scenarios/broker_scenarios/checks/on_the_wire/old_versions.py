"""wire-old-version: a client sends a version that Kafka 4.0 has removed (KIP-896), where the broker has a newer one.

Brokers of 4.0 and later refuse it: the client is to be updated, or its configuration, before the brokers are.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from broker_scenarios.checks.on_the_wire.wire_facts import finding_of_request
from broker_scenarios.findings import FindingKind
from protocol_specs import releases
from protocol_specs.api_key import ApiKey

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from broker_scenarios.checks.on_the_wire.wire_facts import WireFacts
    from broker_scenarios.findings import Finding

__all__ = ["old_versions"]

BASELINE: Final = "4.0"


def old_versions(facts: WireFacts) -> Iterator[Finding]:
    """Find the requests with versions that are removed; one finding per client, API and version."""
    if facts.release is None:
        return
    least = _oldest_versions()
    served = releases.get(facts.release).api_versions
    reported: dict[tuple[str | None, str, int], None] = {}
    for event in facts.requests:
        api = ApiKey.named(event.api)
        oldest = least.get(api, 0)
        versions = served.get(api)
        client = (event.client_id, event.api, event.api_version)
        if event.api_version >= oldest or versions is None or versions.highest < oldest or client in reported:
            continue
        reported[client] = None
        detail = f"which Kafka {BASELINE} has removed: the oldest version is {oldest} there"
        yield finding_of_request(FindingKind.WIRE_OLD_VERSION, event, detail)


@cache
def _oldest_versions() -> Mapping[ApiKey, int]:
    return {api: versions.lowest for api, versions in releases.get(BASELINE).api_versions.items()}
