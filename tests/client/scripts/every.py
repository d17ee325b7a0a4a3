"""All scripts, in the order of their families."""

from __future__ import annotations

from typing import Final

from tests.client.scripts import batching, failures, retries

FAMILIES: Final = (batching, retries, failures)
SCRIPTS: Final = [script for family in FAMILIES for script in family.SCRIPTS]
