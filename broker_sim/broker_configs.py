"""The configuration of each broker of a cluster, with the defects that it has."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.per_broker import split_by_broker

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_sim.defects.defect import Defect

__all__ = ["BrokerConfigs"]


class BrokerConfigs:
    """`common` has what all brokers share; controllers have it too."""

    def __init__(
        self, given: Mapping[str, str], *, broker_ids: Sequence[int], release: str, defects: Sequence[str | Defect] = ()
    ) -> None:
        """Parse what was given for all brokers, and (`2:broker.rack`) for single ones.

        Raises:
            BrokerSimError: A configuration or a defect cannot be used.
        """
        common, own = split_by_broker(given, broker_ids)
        self.common = BrokerConfig.parse(common, release=release)
        self._own = {broker_id: BrokerConfig.parse(texts, release=release) for broker_id, texts in own.items()}
        if defects:
            # Imported with the first defect, because it imports all that can be broken.
            from broker_sim.defects.selection import select

            types, own_types = select(defects, broker_ids=broker_ids, config=self.common)
            self._own = {
                broker_id: replace(self.of(broker_id), part_types=own_types[broker_id]) for broker_id in own_types
            }
            self.common = replace(self.common, part_types=types)

    @property
    def warnings(self) -> list[str]:
        """The warnings of all brokers, each once."""
        configs = [self.common, *self._own.values()]
        return list(dict.fromkeys(warning for config in configs for warning in config.warnings))

    def of(self, broker_id: int) -> BrokerConfig:
        """Return the configuration of one broker."""
        return self._own.get(broker_id, self.common)
