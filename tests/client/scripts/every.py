"""All scripts, in the order of their families."""

from __future__ import annotations

from typing import Final

from tests.client.scripts import (
    batching,
    clusters,
    deadlines,
    failures,
    recovery,
    retries,
    sequences,
    transaction_failures,
    transactions,
)

FAMILIES: Final = (
    batching,
    retries,
    failures,
    sequences,
    deadlines,
    clusters,
    recovery,
    transactions,
    transaction_failures,
)
SCRIPTS: Final = [script for family in FAMILIES for script in family.SCRIPTS]
