"""The verdict on a ledger, with the history that it is about, and the error that a test fails with."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from broker_scenarios.findings import FindingKind
from broker_scenarios.histories.verdict_text import verdict_lines
from broker_scenarios.operations import write_operations
from broker_scenarios.verdict import Validity
from sim_runtime.spelling import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from broker_scenarios.histories.history_verdict import HistoryVerdict, JudgedFinding
    from broker_scenarios.ledger.journal_lines import JournalLines
    from broker_scenarios.operations import Op, Value

__all__ = ["LedgerVerdict", "LedgerViolation"]

_LOST: Final = (FindingKind.LOST_WRITE, FindingKind.SET_LOSS)
_WORDS: Final[dict[str, tuple[FindingKind, ...]]] = {
    "lost": _LOST,
    "duplicated": (FindingKind.DUPLICATE, FindingKind.CONSUME_COUNTS),
    "reordered": (FindingKind.NONMONOTONIC_SEND, FindingKind.INT_NONMONOTONIC_SEND, FindingKind.KEY_ORDER),
    "never delivered": (FindingKind.UNSEEN,),
}
"""The words of the headline, and the findings that each counts."""


class LedgerViolation(AssertionError):
    """The verdict on a ledger is not `valid`; its text has the findings, their causes and what was not judged."""

    def __init__(self, verdict: LedgerVerdict) -> None:
        super().__init__(verdict.text())
        self.verdict = verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerVerdict:
    """The verdict: `valid`, `broken`, or `unknown` if nothing is broken and something could not be judged."""

    judged: HistoryVerdict
    operations: Sequence[Op]
    """The history in the neutral form, as `broker-sim check` reads it."""
    promises: Mapping[str, Any]
    logs: Mapping[str, list[list[Any]]]
    """The records of each partition, by name, as `broker-sim check --logs` reads them."""
    places: Mapping[Value, Sequence[tuple[str, int, int]]]
    """Topic, partition and offset of every place where a record was acknowledged, stored, truncated or consumed."""
    journal: JournalLines

    @property
    def valid(self) -> bool:
        """True if nothing was found that the promises do not permit, and all could be judged."""
        return self.judged.validity is Validity.VALID

    @property
    def lost(self) -> list[Value]:
        """The records that were acknowledged and that no log holds, by name."""
        return self._values("lost")

    @property
    def duplicated(self) -> list[Value]:
        """The records that are stored more than once, or that a group consumed more than once."""
        return self._values("duplicated")

    @property
    def reordered(self) -> list[Value]:
        """The records that are stored out of the order in which their producer sent them."""
        return [finding.detail for finding in self._findings("reordered")]

    @property
    def undelivered(self) -> list[Value]:
        """The records that were acknowledged and that no consumer of the ledger received."""
        return self._values("never delivered")

    def text(self) -> str:
        """Return the verdict as text: the counts, then each finding with its operations and the journal's lines."""
        return "\n".join([self._headline(), *verdict_lines(self.judged, self.operations, self._evidence)])

    def write(self, folder: Path) -> str:
        """Write history, promises and logs to a folder; returns the command that judges them again."""
        folder.mkdir(parents=True, exist_ok=True)
        write_operations(folder / "history.jsonl", self.operations)
        (folder / "promises.json").write_text(json.dumps(self.promises))
        (folder / "logs.json").write_text(json.dumps(self.logs))
        return f"broker-sim check {folder}/history.jsonl --promises {folder}/promises.json --logs {folder}/logs.json"

    def _headline(self) -> str:
        counts = {word: sum(max(len(each.values), 1) for each in self._findings(word)) for word in _WORDS}
        counted = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
        topics = ", ".join(self.promises["topics"])
        return f"ledger of {topics}: {counted or plural(len(self.judged.findings), 'finding')}"

    def _findings(self, word: str) -> list[JudgedFinding]:
        kinds = [kind.value for kind in _WORDS[word]]
        return [each for each in self.judged.findings if each.name in kinds and each.allowed is None]

    def _values(self, word: str) -> list[Value]:
        return list(dict.fromkeys(value for each in self._findings(word) for value in each.values))

    def _evidence(self, finding: JudgedFinding) -> Iterable[str]:
        places = {place: None for value in finding.values for place in self.places.get(value, ())}
        return self.journal.about(places)
