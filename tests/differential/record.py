"""Record the real brokers' responses: `python -m tests.differential.record [--release 4.3.1] [CASE ...]`."""

from __future__ import annotations

import argparse
import sys
import time
import traceback

from tests.differential.case import RELEASES, Case, all_cases, run_case
from tests.differential.recordings import Transcripts, record, recorded
from tests.interop.real_kafka import RealKafka, real_kafka

SETTINGS = {
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.min.isr": "1",
}
"""The broker configurations of both sides."""

SLOW_SECONDS = 2.0
"""What takes longer is named: `make test` runs every case."""


def main() -> int:
    """Run the named cases (default: all) against real brokers and keep their responses."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", action="append", choices=RELEASES)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="the beginnings of case names")
    arguments = parser.parse_args()
    cases = [
        each for each in all_cases().values() if not arguments.cases or each.name.startswith(tuple(arguments.cases))
    ]
    failed: list[str] = []
    for release in arguments.release or RELEASES:
        transcripts: Transcripts = {}
        clusters: dict[tuple[int, tuple[tuple[str, str], ...]], list[Case]] = {}
        for each in cases:
            if release in each.releases:
                clusters.setdefault((each.brokers, each.settings_for(release)), []).append(each)
        for (brokers, settings), grouped in clusters.items():
            with real_kafka(release, brokers=brokers, settings=SETTINGS | dict(settings)) as kafka:
                failed += _run(grouped, kafka, release, transcripts)
        kept = _keep(release, {each.module for each in cases}, transcripts)
        print(f"{release}: {len(cases)} cases run, {kept} kept", file=sys.stderr)
    for name in failed:
        print(f"not recorded: {name}", file=sys.stderr)
    return 1 if failed else 0


def _keep(release: str, modules: set[str], transcripts: Transcripts) -> int:
    """Write the recordings of these modules, new or else previous; return how many the release has."""
    recorded.cache_clear()
    known = all_cases()
    before = recorded(release)
    for module in sorted(modules):
        record(
            release,
            module,
            {
                name: transcripts[name] if name in transcripts else before[name]
                for name, each in known.items()
                if each.module == module and release in each.releases and (name in transcripts or name in before)
            },
        )
    return len(recorded(release))


def _run(cases: list[Case], kafka: RealKafka, release: str, kept: Transcripts) -> list[str]:
    """Run cases one by one, keep their transcripts; return the names of those that failed."""
    failed: list[str] = []
    for each in cases:
        started = time.monotonic()
        try:
            kept[each.name] = run_case(each, kafka.probe_servers, release, kafka)
        except Exception:  # noqa: BLE001 - the other cases are recorded all the same
            failed.append(f"{each.name} on {release}")
            traceback.print_exc()
        if time.monotonic() - started > SLOW_SECONDS:
            print(f"{each.name} took {time.monotonic() - started:.1f} s", file=sys.stderr)
    return failed


if __name__ == "__main__":
    sys.exit(main())
