"""The memory that a server's allocator keeps, measured by the page faults of large blocks."""

from __future__ import annotations

import platform
import subprocess
import sys

ROUNDS, BLOCKS, BLOCK_BYTES, PAGE_BYTES = 20, 8, 4 << 20, 4096
PROGRAM = f"""
import resource
from broker_sim.allocator import reuse_large_blocks
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def use():
    return [b"x" * {BLOCK_BYTES} for _ in range({BLOCKS})]
kept = reuse_large_blocks()
use()
before = faults()
for _ in range({ROUNDS}):
    use()
print(kept, faults() - before)
"""


def test_what_was_freed_is_taken_again_as_it_is() -> None:
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60)
    kept, faults = run.stdout.split()
    is_glibc = platform.libc_ver()[0] == "glibc"
    assert kept == str(is_glibc)
    if is_glibc:
        assert int(faults) < ROUNDS * BLOCKS * BLOCK_BYTES // PAGE_BYTES // 10
