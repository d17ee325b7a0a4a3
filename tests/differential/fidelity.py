"""The fidelity page, which `python -m tests.differential.fidelity` writes: the verdict of every case and exchange.

`test_ours.py` and `test_exchanges.py` prove what it states.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from protocol_specs.api_key import ApiKey
from protocol_specs.registry import request_type
from tests.differential.case import RELEASES, Case, all_cases
from tests.differential.exchange_differences import Verdict, expected
from tests.differential.exchanges import exchanges
from tests.differential.recordings import recorded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PAGE: Final = Path(__file__).parents[2] / "docs" / "reference" / "fidelity.md"
NOT_COVERED: Final = "-"
WIDTH: Final = 120

HEAD: Final = """\
# Fidelity: this broker compared with real ones

This page is generated (`make docs`); a test keeps it current. It lists every case of `tests/differential`: raw probes
have sent requests to real Kafka brokers and controllers, whose responses are recorded. `make test` sends the same
requests to our nodes and compares the responses, after it has replaced volatile values (ids, ports, times) by names.
`make interop` repeats the recording on real brokers.

- **same**: every response is the real one, texts included.
- **accepted**: a response differs and will differ, because a simulation cannot do otherwise.
- **open**: a response differs and should not.
- `-`: the release does not have the case.
"""

BY_API: Final = """\
## By API

The number of cases and recorded exchanges with at least one response of the API. One that differs counts for the API
that it is about; if it is about none in particular, it counts for each API in it.
"""


def fidelity_page() -> str:
    """Return the text of the page."""
    return "\n".join([HEAD, *_counts(), *_by_api(), *_cases(), *_exchanges()])


def verdict_of(case: Case, release: str) -> tuple[Verdict, str] | None:
    """Return the verdict of a case on a release and its reason; None if the release does not have the case."""
    if release not in case.releases:
        return None
    if release in case.accepted:
        return Verdict.ACCEPTED, case.accepted[release]
    if release in case.pending:
        return Verdict.OPEN, case.pending[release]
    return Verdict.SAME, ""


def _counts() -> list[str]:
    rows = []
    for release in RELEASES:
        cases = [found[0] for case in all_cases().values() if (found := verdict_of(case, release)) is not None]
        replayed = [expected(exchange)[0] for exchange in exchanges(release)]
        for name, verdicts in (("cases", cases), ("recorded exchanges", replayed)):
            count = Counter(verdicts)
            rows.append([release, name, str(len(verdicts)), *(str(count[verdict]) for verdict in Verdict)])
    return _table(["release", "what", "all", *(verdict.value for verdict in Verdict)], rows)


def _by_api() -> list[str]:
    """Return the table of the APIs."""
    counts = {release: Counter(_verdicts_by_api(release)) for release in RELEASES}
    rows = []
    for key in ApiKey:
        cells = []
        for release in RELEASES:
            same = counts[release][key.api_name, Verdict.SAME]
            differs = sum(counts[release][key.api_name, verdict] for verdict in (Verdict.ACCEPTED, Verdict.OPEN))
            cells += [str(same), str(differs)]
        rows.append([key.api_name, *cells])
    heads = [f"{release} {verdict}" for release in RELEASES for verdict in ("same", "differs")]
    return [BY_API, *_table(["API", *heads], rows)]


def _verdicts_by_api(release: str) -> Iterator[tuple[str, Verdict]]:
    transcripts = recorded(release)
    for case in all_cases().values():
        found = verdict_of(case, release)
        if found is not None:
            names = {entry["api"]: None for entry in transcripts[case.name] if "api" in entry}
            own = [name for name in names if case.module.startswith(_module_of(name))]
            for name in names if found[0] is Verdict.SAME else own or names:
                yield name, found[0]
    for exchange in exchanges(release):
        yield request_type(exchange.api_key).NAME, expected(exchange)[0]


def _module_of(api_name: str) -> str:
    return next(key.module for key in ApiKey if key.api_name == api_name)


def _cases() -> list[str]:
    lines = ["## Cases", ""]
    modules: dict[str, list[Case]] = {}
    for case in all_cases().values():
        modules.setdefault(case.module, []).append(case)
    for module, cases in sorted(modules.items()):
        lines += [f"### {module}", ""]
        prefix = len(module) + 1
        lines += _table(
            ["case", *RELEASES],
            [
                [
                    case.name[prefix:].replace("-", " ") + (f" ({case.brokers} brokers)" if case.brokers > 1 else ""),
                    *(_worded(verdict_of(case, release)) for release in RELEASES),
                ]
                for case in cases
            ],
        )
    return lines


def _exchanges() -> list[str]:
    lines = [
        "## Recorded exchanges",
        "",
        "Requests and responses of a real broker of each release, replayed in their order on a cluster of one broker.",
        "",
    ]
    apis: dict[int, dict[str, dict[str, list[str]]]] = {}
    for release in RELEASES:
        for exchange in exchanges(release):
            cells = apis.setdefault(exchange.api_key, {}).setdefault(exchange.case, {})
            cells.setdefault(release, []).append(f"v{exchange.version} {_worded(expected(exchange))}")
    for api_key in sorted(apis):
        lines += [f"### {request_type(api_key).NAME}", ""]
        lines += _table(
            ["exchange", *RELEASES],
            [
                [case, *("; ".join(cells.get(release, [NOT_COVERED])) for release in RELEASES)]
                for case, cells in apis[api_key].items()
            ],
        )
    return lines


def _worded(found: tuple[Verdict, str] | None) -> str:
    if found is None:
        return NOT_COVERED
    verdict, reason = found
    return f"{verdict.value}: {reason}" if verdict in (Verdict.ACCEPTED, Verdict.OPEN) else verdict.value


def _table(heads: list[str], rows: Iterable[list[str]]) -> list[str]:
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return [*lines, ""]


def main() -> int:
    """Write the page."""
    PAGE.write_text(fidelity_page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
