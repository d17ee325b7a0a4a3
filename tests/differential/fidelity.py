"""The ledger as a page, which `python -m tests.differential.fidelity` writes: every case and exchange, the same or not.

What it says is what `test_ours.py` and `test_exchanges.py` hold: a case that they find different is named in neither.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from protocol_specs.registry import request_type
from tests.differential.case import RELEASES, Case, all_cases
from tests.differential.exchange_differences import Verdict, expected
from tests.differential.exchanges import exchanges

if TYPE_CHECKING:
    from collections.abc import Iterable

PAGE: Final = Path(__file__).parents[2] / "docs" / "fidelity.md"
NOT_ASKED: Final = "-"

HEAD: Final = """\
# Fidelity: this broker beside real ones

This page is generated (`make docs`); a test keeps it current. It holds every case of `tests/differential`: what raw
probes asked real Kafka brokers and controllers, whose answers are recorded, and what these answer to the same bytes in
`make test`. `make interop` asks the real brokers again. Volatile values (ids, ports, times) are replaced by names
before answers are compared.

- **same**: every answer of the case is the real one, texts included.
- **accepted**: it differs and will: a simulation must.
- **open**: it differs and should not.
- **not served**: the API comes with a later issue.
- `-`: the case is not for this release.
"""


def fidelity_page() -> str:
    """The page, as the cases and the table of exchanges stand."""
    return "\n".join([HEAD, *_counts(), *_cases(), *_exchanges()])


def verdict_of(case: Case, release: str) -> tuple[Verdict, str] | None:
    """How a case ends on a release, and why; None when it is not for it."""
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
        "A conversation that a real broker of each release has had, replayed in its order on a cluster of one broker.",
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
                [case, *("; ".join(cells.get(release, [NOT_ASKED])) for release in RELEASES)]
                for case, cells in apis[api_key].items()
            ],
        )
    return lines


def _worded(found: tuple[Verdict, str] | None) -> str:
    if found is None:
        return NOT_ASKED
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
