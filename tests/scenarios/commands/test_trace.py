from __future__ import annotations

from pathlib import Path

import pytest

from broker_client.trace_file import TraceFile
from broker_scenarios.cli import main
from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.virtual_run import VirtualRun
from broker_sim.control.journal_file import JournalWriter

SCENARIO = Path(__file__).parents[3] / "scenarios" / "catalog" / "leader-crash-acks-1.yaml"


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("trace") / "journal.jsonl"
    with TraceFile(path.with_name("trace.jsonl")) as trace:
        run = VirtualRun(load_scenario(SCENARIO).with_records(200), 3, trace=trace)
        writer = JournalWriter(path, run.cluster.journal)
        run.run(None)
        writer.close()
    return str(path)


@pytest.fixture(scope="module")
def trace(journal: str) -> str:
    return str(Path(journal).with_name("trace.jsonl"))


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(["trace", *arguments]) == 0
    return capsys.readouterr().out.splitlines()


def test_a_scenario_and_the_journal_of_the_same_run_give_the_same_trace(
    journal: str, capsys: pytest.CaptureFixture[str]
) -> None:
    again = printed(capsys, str(SCENARIO), "--records", "200", "--seed", "3")
    assert again == printed(capsys, journal)


@pytest.mark.parametrize("kind", ["journal", "trace"])
def test_a_file_of_events_may_have_any_name(
    journal: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = Path(journal).with_name(f"{kind}.jsonl")
    copy = tmp_path / kind
    copy.write_bytes(events.read_bytes())
    options = ["--list", "3", *(["--batch"] if kind == "trace" else [])]
    assert printed(capsys, str(copy), *options) == printed(capsys, str(events), *options)


def test_the_list_names_what_can_be_traced(journal: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head, *rows = printed(capsys, journal, "--list", "3", "--api", "Produce", "--broker", "2")
    assert head.split() == ["request", "at", "broker", "api", "version", "client", "took"]
    assert [row.split()[3:5] for row in rows] == [["2", "Produce"]] * 3
    page = tmp_path / "trace.html"
    lines = printed(capsys, journal, "--request", rows[0].split()[0], "--html", str(page))
    assert lines[0].startswith("Produce v13 from producer-")
    assert lines[-1] == f"page: {page}"
    assert "<svg" in page.read_text()


def test_a_list_has_no_page(journal: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "list.html"
    assert main(["trace", journal, "--list", "3", "--html", str(page)]) == 2
    assert capsys.readouterr().err == f"--html {page}: a list has no timeline; choose one entry of it, by its id\n"


def test_requests_between_brokers_are_traced_too(journal: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "link:" in printed(capsys, journal, "--between-brokers", "--api", "Fetch")[1]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--api", "Prduce"], "no request is 'Prduce' (--api); did you mean 'Produce'?"),
        (["--broker", "9"], "has no requests of clients to broker 9 (--broker)"),
        (["--request", "1"], "event 1 of the journal is no request (--request)"),
    ],
)
def test_what_is_not_there_is_refused(
    journal: str, arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", journal, *arguments]) == 2
    assert problem in capsys.readouterr().err


def test_an_empty_journal_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    for arguments in ([], ["--list"], ["--request", "1"]):
        assert main(["trace", str(empty), *arguments]) == 2
    assert f"{empty} has no requests of clients" in capsys.readouterr().err


THE_RUN = (str(SCENARIO), "--records", "200", "--seed", "3")


@pytest.mark.parametrize("what", [["--batch"], ["--record", "orders-2@5"], ["--partition", "orders-2"]])
def test_a_scenario_and_the_files_of_the_same_run_give_the_same_batches(
    journal: str, trace: str, what: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert printed(capsys, *THE_RUN, *what) == printed(capsys, trace, journal, *what)


def test_a_trace_alone_shows_the_side_of_the_producer(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, trace)
    assert lines[0].startswith("batch ")
    assert "NetworkClient" in "".join(lines)
    assert "broker 2:" not in "".join(lines)


def test_the_list_names_batches_as_the_command_takes_them(
    trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head, *rows = printed(capsys, trace, "--batch", "--list", "3", "--producer", "producer-1")
    assert head.split() == ["batch", "at", "partition", "records", "sent", "offset", "took", "outcome"]
    assert len(rows) == 3
    name = rows[0].split()[0]
    page = tmp_path / "batch.html"
    lines = printed(capsys, trace, "--batch", name, "--html", str(page))
    assert lines[0].startswith(f"batch {name.split(':')[1]} of producer-1 for ")
    assert "RecordAccumulator" in page.read_text()
    of_partition = printed(capsys, trace, "--partition", "orders-2", "--list")[1:]
    assert {row.split()[3] for row in of_partition} == {"orders-2"}


def test_a_partition_shows_so_many_batches(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, trace, "--partition", "orders-2", "--limit", "2")
    assert "2 batches of " in lines[0]
    assert sum(line.startswith("  batch ") for line in lines) == 2


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--batch", "producer-0:999"], "--batch producer-0:999: there is no such batch: producer-0 has 0 to "),
        (["--record", "orders-2@99999"], "no batch of orders-2 has offset 99999 (--record); nearest are "),
        (["--partition", "order-2"], "no batch is for 'order-2' (--partition); did you mean 'orders-2'?"),
        (["--producer", "producer-9"], "no producer is 'producer-9' (--producer); did you mean 'producer-"),
        (["--batch", "--api", "Produce"], "--api chooses among requests, --batch among batches: give one of them"),
        ([str(SCENARIO)], "is a scenario, which is traced alone: journals and traces end in .jsonl"),
    ],
)
def test_a_batch_that_is_not_there_is_refused(
    trace: str, arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", trace, *arguments]) == 2
    assert problem in capsys.readouterr().err


def test_a_journal_has_no_batches_of_producers(
    journal: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", journal, "--batch"]) == 2
    assert (
        "journal.jsonl: no batches of a producer; Producer(trace=TraceFile(...)) writes them" in capsys.readouterr().err
    )
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"kind":"drowned","client_id":"p"}\n')
    assert main(["trace", str(broken)]) == 2
    assert "broken.jsonl, line 1: unknown kind of event 'drowned'" in capsys.readouterr().err


def test_a_trace_changes_nothing_in_a_run() -> None:
    events: list[object] = []
    traced, plain = (VirtualRun(load_scenario(SCENARIO).with_records(100), 3, trace=t) for t in (events.append, None))
    assert traced.run(None).facts["digest"] == plain.run(None).facts["digest"]
    assert events
