"""The records of the logs as files are those of the lists."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from broker_scenarios.arrow.result_table import read_logs
from broker_scenarios.arrow.truth_files import TruthFiles
from broker_scenarios.history import join_logs
from broker_scenarios.truth import read_truth
from broker_sim.control.events import LogTruncated
from tests.scenarios.small_cluster import Log, SmallCluster, batch, marker

if TYPE_CHECKING:
    from pathlib import Path

    from broker_sim.log.stored_batch import StoredBatch

WHOLE = batch(0, *range(40))
DAMAGED = replace(WHOLE, data=WHOLE.data[:-1] + bytes([WHOLE.data[-1] ^ 1]))


@pytest.mark.parametrize(
    "batches",
    [
        [],
        [WHOLE, batch(40, 5, 2**62), batch(42, *range(100, 140))],
        [WHOLE, batch(40, 41, producer=7, transactional=True), marker(41, 7), batch(42, 9)],
        [WHOLE, batch(40, 41, producer=7, transactional=True)],
        [DAMAGED, batch(40, 41)],
    ],
)
def test_the_files_have_the_records_of_the_lists(tmp_path: Path, batches: list[StoredBatch]) -> None:
    cut = LogTruncated(
        time_us=3,
        broker_id=2,
        topic="orders",
        partition=0,
        leader_epoch=1,
        from_offset=41,
        to_offset=43,
        leader_id=1,
        records=2,
        high_watermark=40,
        reason="diverged",
        batches=(batch(40, 50, 51, 52),),  # type: ignore[arg-type]
    )
    logs = [Log(*batches) for _ in range(3)]
    cluster: Any = SmallCluster(*logs)
    cluster.journal.append(cut)
    kept = read_truth(cluster)
    filed = read_truth(cluster, files=TruthFiles(tmp_path / "logs"))
    assert filed.logs == tmp_path / "logs"
    assert sorted(read_logs(tmp_path / "logs")) == sorted(join_logs(kept.stored, kept.truncated))
    assert kept.truncated
    assert replace(filed, logs=None) == replace(kept, stored=[])
