"""The traffic of the clients of a cluster in another process, as HTTP control returns it."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from broker_scenarios.checks.on_the_wire.wire_facts import Origin, SentBatch, sent_batches
from broker_scenarios.errors import ScenarioError
from broker_scenarios.strict_clients import Wire
from broker_sim.control.events import RequestReceived
from broker_sim.running_cluster import ControlledCluster

if TYPE_CHECKING:
    from broker_sim.running_cluster import AttachedCluster

__all__ = ["remote_wire"]


def remote_wire(cluster: AttachedCluster) -> Wire:
    """Read the requests and events of a cluster.

    Raises:
        ScenarioError: its address alone is known, or its journal does not hold all any more.
    """
    if not isinstance(cluster, ControlledCluster):
        raise ScenarioError(
            "strict mode needs the journal of the cluster, and --kafka-bootstrap names its address alone: give "
            "--kafka-control URL"
        )
    numbered = cluster.numbered_events()
    if dropped := cluster.dropped_events():
        raise ScenarioError(f"strict mode: the journal of the cluster has let go of {dropped} events: split the test")
    request_ids = {number: event.request_id for number, event in numbered if isinstance(event, RequestReceived)}
    names = {topic.id: topic.name for topic in cluster.topics()}
    batches: list[SentBatch] = []
    for request in cluster.produce_requests():
        body = request["body"]
        if body is None:
            raise ScenarioError(
                "strict mode: the journal of the cluster has let go of the bytes of requests: split the test"
            )
        origin = Origin(
            request["time_us"],
            request["client_id"] or "",
            request["connection_id"],
            request["broker"],
            request_ids[request["sequence"]],
        )
        for topic in body["topicData"]:
            name = topic.get("name") or names.get(topic.get("topicId", ""), "")
            for part in topic["partitionData"]:
                records = base64.b64decode(part["records"] or "")
                batches += sent_batches(origin, name, part["index"], body["acks"], records)
    return Wire(batches, [event for _, event in numbered], cluster.release())
