"""Record the real brokers' answers: `python -m tests.differential.record [--release 4.3.1] [CASE ...]`."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from typing import Any

from tests.differential.case import BROKERS, RELEASES, Case, all_cases, run_case
from tests.differential.recordings import record, recorded
from tests.interop.real_kafka import real_kafka

SETTINGS = {
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.min.isr": "1",
}
"""The broker configurations of both sides."""

SLOW_SECONDS = 2.0
"""What takes longer is named: `make test` runs every case."""


def main() -> int:
    """Run the named cases (all when none is named) against real brokers and keep what they answered."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", action="append", choices=RELEASES)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="the beginnings of case names")
    arguments = parser.parse_args()
    cases = [
        each for each in all_cases().values() if not arguments.cases or each.name.startswith(tuple(arguments.cases))
    ]
    failed: list[str] = []
    for release in arguments.release or RELEASES:
        kept = {
            name: answers
            for name, answers in recorded(release).items()
            if name in all_cases() and release in all_cases()[name].releases
        }
        for brokers in BROKERS:
            asked = [each for each in cases if release in each.releases and each.brokers == brokers]
            if asked:
                with real_kafka(release, brokers=brokers, settings=SETTINGS) as kafka:
                    failed += _run(asked, kafka.bootstrap_servers, release, kept)
        record(release, kept)
        print(f"{release}: {len(cases)} cases run, {len(kept)} kept", file=sys.stderr)
    for name in failed:
        print(f"not recorded: {name}", file=sys.stderr)
    return 1 if failed else 0


def _run(cases: list[Case], bootstrap: str, release: str, kept: dict[str, Any]) -> list[str]:
    """Run cases one by one, keep their answers; tell which failed."""
    failed: list[str] = []
    for each in cases:
        started = time.monotonic()
        try:
            kept[each.name] = run_case(each, bootstrap, release)
        except Exception:  # noqa: BLE001 - the other cases are recorded all the same
            failed.append(f"{each.name} on {release}")
            traceback.print_exc()
        if time.monotonic() - started > SLOW_SECONDS:
            print(f"{each.name} took {time.monotonic() - started:.1f} s", file=sys.stderr)
    return failed


if __name__ == "__main__":
    sys.exit(main())
