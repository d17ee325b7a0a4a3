"""The clients of a scenario: named groups of producers and consumers with their configurations, scripts and loads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from broker_scenarios.drivers.catalogue import DRIVERS
from broker_scenarios.language.kinds import Choice, Config, Flag, Key, Keys, ListOf, Number, Text, Whole
from broker_scenarios.language.step_forms import SCRIPT
from broker_scenarios.workloads.values import VALUE_BYTES_MIN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_scenarios.drivers.driver import DriverChoice
    from broker_scenarios.language.steps import Script
    from broker_scenarios.workloads.keyed_load import LoadSpec

__all__ = ["CLIENT", "LOAD", "SHORT_FORM", "ClientGroup"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientGroup:
    """`count` equal clients. Each is one process with a producer, a consumer, or both.

    An instance plays the script, or sends its share of the load.
    """

    name: str
    count: int = 1
    producer: Mapping[str, str] | None = None
    consumer: Mapping[str, str] | None = None
    script: Script = ()
    load: LoadSpec | None = None
    load_after_ms: float = 0
    driver: DriverChoice | None = None
    """The foreign client that takes the place of this project's."""
    defects: tuple[str, ...] = field(default=())
    final_polls: bool = False

    @property
    def promised(self) -> Mapping[str, str]:
        """The configurations of the producer for what they promise, under Kafka's names."""
        config = self.producer or {}
        return config if self.driver is None else self.driver.driver.promises_of(config, self.driver.version)

    @property
    def client_ids(self) -> tuple[str, ...]:
        """The client.id of each instance."""
        return tuple(map(self.client_id, range(self.count)))

    def client_id(self, number: int) -> str:
        """The client.id of an instance; an only one has the name of the group."""
        return self.name if self.count == 1 and self.name != SHORT_FORM else f"{self.name}-{number}"


SHORT_FORM: Final = "producer"
"""The group that `load` and `producer` of a file describe."""

_SIZES: Final = Keys(
    keys={
        "bytes": Key(Whole(at_least=VALUE_BYTES_MIN, at_most=16_777_216), "a size of values, in bytes", 100),
        "share": Key(Number(at_least=0.000_001, at_most=1_000_000), "how often, beside the other sizes", 3),
    },
    required=("bytes",),
)
_LOAD_KEYS: Final = {
    "topic": Key(Text(), "the topic to send to, the first one when not given", "orders"),
    "records": Key(
        Whole(at_least=1, at_most=1_000_000_000), "how many records all producers of the load send together", 1_000
    ),
    "rate_per_second": Key(Number(at_least=0.001, at_most=1e9), "records a second, of all producers together", 500),
    "keys": Key(Whole(at_least=0, at_most=1_000_000), "how many keys there are; 0 sends records without keys", 50),
    "zipf": Key(Number(at_least=0, at_most=10), "how skewed the keys are: 0 is even", 1.1),
    "sizes": Key(ListOf(value=_SIZES), "the sizes of values", [{"bytes": 100}]),
}
LOAD: Final = Keys(
    keys={
        **_LOAD_KEYS,
        "producers": Key(Whole(at_least=1, at_most=1_000), "how many producers share the load", 4),
    },
    required=("records", "producers", "rate_per_second"),
)
_DRIVER: Final = Choice(
    kinds=((lambda value: not isinstance(value, dict), Text(one_of=tuple(DRIVERS))),),
    otherwise=Keys(
        keys={
            "name": Key(Text(one_of=tuple(DRIVERS)), "the foreign client", "aiokafka"),
            "version": Key(Text(), "the version that must run, the installed one when not given", "0.12.0"),
        },
        required=("name",),
    ),
)
CLIENT: Final = Keys(
    keys={
        "driver": Key(
            _DRIVER,
            "a foreign client that takes the place of this project's; all but aiokafka need real sockets (--local)",
            {"name": "aiokafka", "version": "0.12.0"},
        ),
        "count": Key(
            Whole(at_least=1, at_most=1_000),
            "how many such clients there are, 1 when not given; several are NAME-0, NAME-1, ...",
            3,
        ),
        "producer": Key(Config(), "its producer's configurations under Kafka's names", {"acks": "all"}),
        "consumer": Key(Config(), "its consumer's configurations under Kafka's names", {"group.id": "g"}),
        "script": Key(SCRIPT, "what it does, step after step", [{"send": 3}, "flush", "close"]),
        "load": Key(
            Keys(
                keys={
                    **_LOAD_KEYS,
                    "after_ms": Key(
                        Number(at_least=0, at_most=86_400_000), "when the load begins, in milliseconds of the run", 500
                    ),
                },
                required=("records", "rate_per_second"),
            ),
            "what its producers send together",
            {"records": 100, "rate_per_second": 200},
        ),
        "defects": Key(ListOf(value=Text()), "documented bugs of clients that it has", ["no-mute"]),
        "final_polls": Key(
            Flag(), "whether a fresh consumer with these configurations reads everything at the end", True
        ),
    }
)
