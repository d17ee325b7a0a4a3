from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_scenarios.cli import main

if TYPE_CHECKING:
    from pathlib import Path

PAIR = """
title: TITLE
claim: The broker appends the batch, and its response is lost.
cluster: {brokers: 1}
topics: {orders: {partitions: 1, replication_factor: 1}}
clients:
  app: {producer: {enable.idempotence: false, linger.ms: 0}, script: [{send: {count: 3, wait: true}}, close]}
rules: {lose: {select: {api: Produce, nth: 2}, phase: before_response, act: disconnect}}
expect: {duplicate: EXPECTED}
flip: {why: the broker knows the number, clients: {app: {producer: {enable.idempotence: true}}}, expect: {duplicate: 0}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "second-copy.yaml").write_text(PAIR.replace("TITLE", "A second copy").replace("EXPECTED", "1"))
    (tmp_path / "wrong.yaml").write_text(PAIR.replace("TITLE", "A wrong claim").replace("EXPECTED", "7"))
    (tmp_path / "no-pair.yaml").write_text(PAIR.replace("EXPECTED", "1").partition("flip:")[0])
    return tmp_path


def test_pairs_are_listed_by_the_words_of_a_symptom(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "list", "Second", "duplicate", "--folder", str(folder)]) == 0
    assert capsys.readouterr().out == "second-copy  A second copy\n"
    assert main(["catalog", "list", "nonsense", "--folder", str(folder)]) == 1


def test_a_cluster_that_is_not_there_and_a_folder_without_pairs_are_no_success(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["catalog", "run", "--folder", str(folder), "--attach", "127.0.0.1:1"]) == 2
    assert capsys.readouterr().err == "--attach 127.0.0.1:1: cannot connect: Connection refused\n"
    empty = tmp_path_factory.mktemp("empty")
    assert main(["catalog", "run", "--folder", str(empty)]) == 2
    assert capsys.readouterr().err == f"--folder {empty}: there is no pair in it: expected *.yaml with `flip`\n"


def test_a_pair_that_does_not_show_its_anomaly_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = folder / "index.html"
    assert main(["catalog", "run", "--folder", str(folder), "--html", str(page)]) == 1
    assert capsys.readouterr().out.splitlines()[:4] == [
        "shown  second-copy",
        "MISSED  wrong",
        "        wrong: duplicate 1, expected exactly 7",
        "1 of 2 anomalies are shown, and gone in the flip, on virtual time",
    ]
    assert "NOT as expected" in page.read_text()
    assert main(["catalog", "run", "second-copy", "--local", "--folder", str(folder)]) == 0


def test_the_results_of_targets_become_one_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [folder / "virtual.json", folder / "tcp.json"]
    assert main(["catalog", "run", "--folder", str(folder), "--json", str(files[0])]) == 1
    assert main(["catalog", "run", "second-copy", "--local", "--folder", str(folder), "--json", str(files[1])]) == 0
    capsys.readouterr()
    assert main(["catalog", "table", *map(str, files)]) == 0
    assert capsys.readouterr().out.splitlines()[-7:] == [
        "- 1 of 2 on virtual time",
        "- 1 of 1 on TCP",
        "",
        "| anomaly | virtual time | TCP |",
        "|---|---|---|",
        "| `second-copy` | shown | shown |",
        "| `wrong` | missed: duplicate 1, expected exactly 7 | not run |",
    ]
    assert main(["catalog", "table", str(folder / "wrong.yaml")]) == 2
    assert "wrong.yaml" in capsys.readouterr().err


def test_an_unknown_name_or_folder_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "run", "second-cop", "--folder", str(folder)]) == 2
    assert "did you mean 'second-copy'?" in capsys.readouterr().err
    assert main(["catalog", "list", "--folder", str(folder / "none")]) == 2
    assert "there is no such folder" in capsys.readouterr().err
