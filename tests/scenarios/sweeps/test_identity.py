from __future__ import annotations

import re
from pathlib import Path

from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.sweeps.identity import code_version, scenario_fingerprint

SCENARIOS = Path(__file__).parents[3] / "scenarios"
FILE = (SCENARIOS / "swarms" / "replication.yaml").read_text()


def test_the_fingerprint_depends_on_the_values_of_the_file_and_on_the_records(tmp_path: Path) -> None:
    path = tmp_path / "swarm.yaml"
    texts = [
        FILE,
        FILE + "# a comment\n",
        FILE.replace("brokers: {one_of: [3, 4, 5]}", "brokers: {one_of: [3, 4, 6]}"),
        FILE.replace("chance: 0.4", "chance: 0.5"),
    ]
    prints = []
    for text in texts:
        path.write_text(text)
        prints.append(scenario_fingerprint(load_scenario(path)))
    same, *others = prints[1:]
    assert same == prints[0]
    assert len({same, *others}) == 3

    load = load_scenario(SCENARIOS / "catalog" / "leader-crash-any-time-acks-1.yaml")
    assert scenario_fingerprint(load) != scenario_fingerprint(load.with_records(5))


def test_the_version_has_a_digest_of_the_sources() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+\+[0-9a-f]{16}", code_version())
    assert code_version() == code_version()
