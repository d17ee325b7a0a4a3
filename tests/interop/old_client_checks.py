"""The calls that Java clients of a release make, their topics, and the outcomes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from broker_sim.config.release_behaviour import behaviour_of, release_number
from broker_sim.topic_spec import TopicSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.interop.old_clients_jvm import OldClientsJvm

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
SECONDS_MAX: Final = 60
"""The time that a client waits for one record: where a broker no longer serves its requests, it times out."""
PREFIX: Final = "t-"
PROGRAMS: Final[Mapping[str, str]] = {
    "OldProduce": "0.8.2",
    "OldRecords": "0.10.1",
    "OldAdmin": "0.11",
    "OldAdminOfReplicas": "2.4",
    "OldAdminOfQuotas": "2.7",
    "OldAdminOfRecords": "1.1",
}
"""Each program, and the first release that has what it calls; the last one deletes what others read."""
OF_RECORDS: Final = ("OldProduce", "OldRecords")
"""The programs that take codecs."""
TOPICS: Final[Mapping[str, tuple[int, Mapping[str, str]]]] = {
    "plain": (2, {}),
    "unacknowledged": (1, {}),
    "small": (1, {"max.message.bytes": "1000"}),
    "compacted": (1, {"cleanup.policy": "compact"}),
    "in-sync": (1, {"min.insync.replicas": "2"}),
    "appended": (1, {"message.timestamp.type": "LogAppendTime"}),
    "growing": (1, {}),
}
"""Partitions and configurations of each topic; its name begins with PREFIX."""
WITH_TIMESTAMPS: Final = (0, 10)


def topics_of(release: str) -> list[TopicSpec]:
    """The topics, for brokers of this release. Nothing expires: some records are of long ago."""
    return [
        TopicSpec(name=PREFIX + name, partitions=partitions, configs={"retention.ms": "-1", **configs})
        for name, (partitions, configs) in TOPICS.items()
        if name != "appended" or release_number(release) >= WITH_TIMESTAMPS
    ]


def outcomes(jvm: OldClientsJvm, client: str, broker: str, servers: str) -> dict[str, str]:
    """The outcome of each call of a client, by program and call: "ok VALUE", or the exception and its message."""
    newest = min(behaviour_of(client).newest_codec, behaviour_of(broker).newest_codec)
    found: dict[str, str] = {}
    for program, since in PROGRAMS.items():
        if release_number(since) > release_number(client):
            continue
        options = [",".join(CODECS[: newest + 1]), str(SECONDS_MAX)] if program in OF_RECORDS else []
        for line in jvm.run(client, program, servers, PREFIX, *options):
            name, separator, outcome = re.split("([:!]) ?", line, maxsplit=1)
            # How long a client waited is its own affair.
            outcome = re.sub(r"\d+ ms", "some ms", outcome)
            found[f"{program} {name}"] = f"ok {outcome}" if separator == ":" else outcome
    return found
