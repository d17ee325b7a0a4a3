"""All scripts, in the order of their families."""

from __future__ import annotations

from typing import Final

from tests.client.scripts import batching, clusters, deadlines, failures, retries, sequences

FAMILIES: Final = (batching, retries, failures, sequences, deadlines, clusters)
SCRIPTS: Final = [script for family in FAMILIES for script in family.SCRIPTS]
