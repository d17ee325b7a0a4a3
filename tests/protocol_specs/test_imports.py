"""The cost of importing messages and framing: they import nothing that takes longer than themselves."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SLOW = ("base64", "construct", "dataclasses", "difflib", "hypothesis", "inspect", "json", "twisted")


def test_framing_and_a_message_import_no_slow_module() -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); before = set(sys.modules); "
        "import protocol_specs.framing, protocol_specs.messages.produce; "
        "after = sorted(set(sys.modules) - before); import json; print(json.dumps(after))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    loaded = json.loads(run.stdout)
    assert "protocol_specs.messages.produce" in loaded
    assert [name for name in SLOW if name in loaded] == []
