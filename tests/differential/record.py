"""Record the real brokers' answers: `python -m tests.differential.record [--release 4.3.1] [CASE ...]`."""

from __future__ import annotations

import argparse
import sys

from tests.differential.case import RELEASES, all_cases, run_case
from tests.differential.recordings import record, recorded
from tests.interop.real_kafka import real_kafka

SETTINGS = {"offsets.topic.num.partitions": "3", "transaction.state.log.num.partitions": "3"}
"""The broker configurations of both sides."""


def main() -> int:
    """Run the named cases (all when none is named) against real brokers and keep what they answered."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", action="append", choices=RELEASES)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="the beginnings of case names")
    arguments = parser.parse_args()
    cases = [
        each for each in all_cases().values() if not arguments.cases or each.name.startswith(tuple(arguments.cases))
    ]
    for release in arguments.release or RELEASES:
        kept = {name: answers for name, answers in recorded(release).items() if name in all_cases()}
        with real_kafka(release, settings=SETTINGS) as kafka:
            for each in cases:
                if release in each.releases:
                    kept[each.name] = run_case(each, kafka.bootstrap_servers, release)
        record(release, kept)
        print(f"{release}: {len(cases)} cases run, {len(kept)} kept", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
