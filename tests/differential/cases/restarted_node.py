"""A node that is broker and controller, the only one of its cluster, after restarts. Clusters of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.differential.case import case
from tests.differential.cases.controller_listener import controller
from tests.differential.cases.describe_quorum import METADATA_TOPIC, of, steady

if TYPE_CHECKING:
    from tests.differential.probe import Probe


def _with_epoch(response: dict[str, Any]) -> dict[str, Any]:
    """Return the response with the leader's epoch, and without what is of the moment."""
    [epoch] = [each["leaderEpoch"] for topic in response["topics"] for each in topic["partitions"]]
    return {"the leader's epoch": epoch, **steady(response)}


@case(settings=(("metadata.max.idle.interval.ms", "521"),))
def the_epoch_of_its_quorum(probe: Probe) -> None:
    """Each start is an election."""
    for note in ("started", "shut down", "killed"):
        if note == "shut down":
            probe.nodes.shut_down(1)
        elif note == "killed":
            probe.nodes.kill(1)
        if note != "started":
            probe.nodes.restart(1)
            probe.connect(1)
            probe.use(1)
        probe.exchange(of((METADATA_TOPIC, (0,))), 1, note=note, only=_with_epoch)
        probe.exchange(
            of((METADATA_TOPIC, (0,))), 1, on=controller(probe), note=f"{note}, controller", only=_with_epoch
        )
