"""Records the assignments of Java's assignors: `python -m tests.interop.java_assignments`."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

from broker_client.core.groups.consumer_protocol import encoded_subscription
from tests.client.core.groups.assignors.assignor_cases import CASES, case
from tests.client.core.groups.assignors.recorded_assignments import record
from tests.interop.kafka_release import classpath, java_tool

if TYPE_CHECKING:
    from tests.client.core.groups.assignors.assignor_cases import Case

RELEASE: Final = "4.3.1"
PROGRAM: Final = Path(__file__).parent / "java" / "Assignments.java"
SECONDS_MAX: Final = 120


def lines_of(one: Case) -> list[str]:
    """The case in the words of Assignments.java."""
    return [
        f"assignor {one.assignor}",
        *(f"node {number} {rack or '-'}" for number, rack in enumerate(one.racks)),
        *(
            f"topic {name} {';'.join(','.join(map(str, replicas)) for replicas in partitions)}"
            for name, partitions in one.topics.items()
        ),
        *(
            f"member {name} {member.group_instance_id or '-'} {base64.b64encode(encoded_subscription(member)).decode()}"
            for name, member in one.members.items()
        ),
        "end",
    ]


def main() -> None:
    cases = [case(number) for number in range(CASES)]
    text = "\n".join(line for one in cases for line in lines_of(one)) + "\n"
    command = [java_tool("java"), "-cp", classpath(RELEASE), str(PROGRAM)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=SECONDS_MAX, check=True)
    record(done.stdout.splitlines())


if __name__ == "__main__":
    main()
