from __future__ import annotations

from tests.differential.case import RELEASES, all_cases
from tests.differential.fidelity import PAGE, fidelity_page, verdict_of


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == fidelity_page(), "run: python -m tests.differential.fidelity"


def test_every_case_has_one_verdict_for_each_of_its_releases() -> None:
    for case in all_cases().values():
        assert not case.accepted.keys() & case.pending.keys(), case.name
        for release in RELEASES:
            assert (verdict_of(case, release) is None) == (release not in case.releases), case.name
