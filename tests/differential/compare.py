"""Run cases against our broker and print where it differs from the recorded responses of a real one.

    python -m tests.differential.compare [--release 4.3.1] [--all] [CASE-PREFIX ...]

Names begin with the module: `join-group` runs the cases of `cases/join_group.py`. Waiting cases run too.
"""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from contextlib import ExitStack
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from broker_sim.threaded_cluster import ThreadedCluster
from protocol_specs.json_form import to_json
from protocol_specs.message import Message
from tests.differential.case import RELEASES, Case, all_cases
from tests.differential.extra_listeners import bound_by, ours, probe_servers
from tests.differential.nodes import Nodes, OurNodes
from tests.differential.probe import Probe
from tests.differential.record import SETTINGS
from tests.differential.recordings import recorded

if TYPE_CHECKING:
    from collections.abc import Iterator

SHOWN_ENTRIES: Final = 3
SHOWN_VALUES: Final = 6
SHOWN_CHARACTERS: Final = 300


def differences(real: Any, ours: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield each place where two responses differ, with both values."""
    if isinstance(real, dict) and isinstance(ours, dict):
        for name in [*real, *(each for each in ours if each not in real)]:
            left, right = real.get(name, "<none>"), ours.get(name, "<none>")
            if left != right:
                yield from differences(left, right, f"{path}.{name}" if path else name)
    elif isinstance(real, list) and isinstance(ours, list) and len(real) == len(ours):
        for index, (left, right) in enumerate(zip(real, ours, strict=True)):
            if left != right:
                yield from differences(left, right, f"{path}[{index}]")
    else:
        yield path, real, ours


def _short(value: Any, *, everything: bool) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text if everything or len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}..."


def _format_request(sent: Any, version: int) -> str:
    return json.dumps(to_json(sent, version)) if isinstance(sent, Message) else str(sent)


def _report(case: Case, release: str, probe: Probe, failure: str, *, everything: bool) -> bool:
    """Print how one case differs; return True if it does not."""
    real = recorded(release).get(case.name)
    if real is None:
        print(f"NO RECORDING {release} {case.name}")
        return False
    differing = [
        (index, was, now) for index, (was, now) in enumerate(zip(real, probe.transcript, strict=False)) if was != now
    ]
    if not differing and not failure and len(real) == len(probe.transcript):
        return True
    print(f"DIFFERS {release} {case.name}: {len(differing)} of {len(real)} entries; ours has {len(probe.transcript)}")
    for index, was, now in differing if everything else differing[:SHOWN_ENTRIES]:
        note = f" ({now['note']})" if now.get("note") else ""
        print(f"  [{index}] {now.get('api', '')} v{now.get('version', '')}{note}")
        print(f"      sent {_short(_format_request(probe.sent[index], now.get('version', 0)), everything=everything)}")
        found = list(differences(was, now))
        for path, left, right in found if everything else found[:SHOWN_VALUES]:
            for side, value in ((f"{path}: real", left), (f"{' ' * len(path)}  ours", right)):
                print(f"      {side} {_short(value, everything=everything)}")
    if failure:
        print(f"  the case ends early: {failure}")
    return False


def _run(case: Case, bootstrap: str, release: str, nodes: Nodes) -> tuple[Probe, str]:
    """Run a case as far as it goes; return its probe, and where and why it ended early."""
    expected = recorded(release).get(case.name, ())
    probe = Probe(bootstrap, release=release, name=case.name, nodes=nodes, expected=expected)
    failure = ""
    try:
        case.run(probe)
    except Exception as error:  # noqa: BLE001 - the responses up to here are compared all the same
        frames = [each for each in traceback.extract_tb(error.__traceback__) if "/cases/" in each.filename]
        place = f"{frames[-1].filename.rsplit('/', 1)[1]}:{frames[-1].lineno}: " if frames else ""
        failure = f"{place}{type(error).__name__}: {error}"[:SHOWN_CHARACTERS]
    finally:
        probe.close()
    return probe, failure


def main() -> int:
    """Compare; the exit code is 1 if a case differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", action="append", choices=RELEASES)
    parser.add_argument("--all", action="store_true", help="print every difference, not the first of each case")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="the beginnings of case names; all if none is given")
    arguments = parser.parse_args()
    chosen = [
        each for each in all_cases().values() if not arguments.cases or each.name.startswith(tuple(arguments.cases))
    ]
    same = count = 0
    with ExitStack() as clusters:

        @cache
        def cluster_of(release: str, brokers: int, settings: tuple[tuple[str, str], ...]) -> ThreadedCluster:
            config = ours(SETTINGS | dict(settings), brokers)
            return clusters.enter_context(ThreadedCluster(brokers=brokers, release=release, config=config))

        for release in arguments.release or RELEASES:
            for each in chosen:
                if release in each.releases:
                    cluster = cluster_of(release, each.brokers, each.settings_for(release))
                    servers = probe_servers(cluster.bootstrap_servers, bound_by(cluster))
                    probe, failure = _run(each, servers, release, OurNodes(cluster))
                    count += 1
                    same += _report(each, release, probe, failure, everything=arguments.all)
    print(f"{same} of {count} cases are the same")
    return 0 if same == count else 1


if __name__ == "__main__":
    sys.exit(main())
