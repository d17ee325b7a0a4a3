"""Journal events about brokers with several controllers: recorded when a majority has them, not when one decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.control.events import BrokerFenced, BrokerRegistered, BrokerUnfenced

if TYPE_CHECKING:
    from broker_sim.control.events import Event
    from broker_sim.control.journal import Journal
    from broker_sim.metadata.metadata_image import MetadataImage

__all__ = ["UndecidedJournal", "note_brokers"]


class UndecidedJournal:
    """A journal that drops events about brokers; it passes all others to the journal of the cluster."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    def append(self, event: Event) -> None:
        """Keep an event, unless the metadata log decides whether it has happened."""
        if not isinstance(event, BrokerFenced | BrokerRegistered | BrokerUnfenced):
            self._journal.append(event)


def note_brokers(journal: Journal, old: MetadataImage, new: MetadataImage) -> None:
    """Report every broker that has registered, is fenced or is unfenced."""
    for broker_id, broker in new.brokers.items():
        known = old.brokers.get(broker_id)
        if known is broker:
            continue
        fields = {"time_us": journal.now_us(), "broker_id": broker_id, "broker_epoch": broker.epoch}
        if known is None or known.epoch != broker.epoch:
            journal.append(BrokerRegistered(**fields))
        elif broker.fenced and not known.fenced:
            journal.append(BrokerFenced(**fields))
        elif known.fenced and not broker.fenced:
            journal.append(BrokerUnfenced(**fields))
