"""`broker-sim protocol hostile`: fuzzes the codec with mutated frames of every API. Exit code 1 for a finding.

The seed and the number of a frame determine its bytes, independent of the number of processes: `--frame` repeats one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sim_runtime.spelling import plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from protocol_specs.fuzzing.campaign import Campaign, Finding, Frame, Tally

EXIT_FINDING: Final = 1

_HEX_SHOWN_MAX: Final = 2000
_FINDINGS_SHRUNK_MAX: Final = 3
_JOBS_MAX: Final = 64


def add(subcommands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the subcommand."""
    parser = subcommands.add_parser("hostile", help="mutate frames of every API by a seed, and check how they are read")
    parser.add_argument("--frames", type=int, default=200_000, help="how many frames (200000)")
    parser.add_argument("--seed", type=int, default=1, help="the seed of all frames (1)")
    parser.add_argument("--seconds", type=float, default=900.0, help="stop after this long, done or not (900)")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes share the work (1)")
    parser.add_argument("--frame", type=int, metavar="NUMBER", help="check this one frame of the seed, and show it")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the campaign, or one frame of it. Raises ScenarioError for a number that is out of range."""
    from broker_scenarios.commands.result_lines import print_lines
    from protocol_specs.fuzzing.campaign import Campaign

    _check(options)
    if options.frame is not None:
        code, lines = _one_frame(Campaign(options.seed), options.frame)
        print_lines(lines)
        return code
    tally, took_s = _tally(options)
    print_lines(_report(options, tally, took_s))
    return EXIT_FINDING if tally.findings else 0


def _check(options: argparse.Namespace) -> None:
    from broker_scenarios.errors import ScenarioError

    bounds = (("frames", 1, 2**40), ("seed", 0, 2**63 - 1), ("seconds", 0.001, 10**6), ("jobs", 1, _JOBS_MAX))
    for name, low, high in bounds:
        value = getattr(options, name)
        if not low <= value <= high:
            raise ScenarioError(f"--{name} {value}: expected {low} to {high}")
    if options.frame is not None and not 0 <= options.frame < 2**40:
        raise ScenarioError(f"--frame {options.frame}: expected the number of a frame, 0 to {2**40 - 1}")


def _tally(options: argparse.Namespace) -> tuple[Tally, float]:
    from twisted.python.runtime import seconds

    from broker_scenarios.worker_processes import workers
    from protocol_specs.fuzzing.campaign import Tally

    started = seconds()
    whole = Tally()
    parts = [(options.seed, options.frames, options.seconds, part, options.jobs) for part in range(options.jobs)]
    with workers(options.jobs) as results:
        for tally in results(_run_part, parts):
            whole.merge(tally)
    return whole, max(seconds() - started, 1e-9)


def _run_part(which: tuple[int, int, float, int, int]) -> Tally:
    from time import process_time

    from twisted.python.runtime import seconds

    from protocol_specs.fuzzing.campaign import Campaign

    seed, frames, seconds_max, part, parts = which
    return Campaign(seed).run(
        frames=frames, clock=process_time, seconds=seconds, seconds_max=seconds_max, part=part, parts=parts
    )


def _report(options: argparse.Namespace, tally: Tally, took_s: float) -> Iterator[str]:
    outcomes = dict(sorted(tally.outcomes.items(), key=lambda item: (-item[1], item[0])))
    small, share, slowest = tally.memory_of_small, tally.memory_share, tally.slowest_s_per_kb
    read, waits = outcomes.pop("read", 0), outcomes.pop("waits", 0)
    yield (
        f"{tally.frames:,} frames of seed {options.seed} over {len(tally.apis)} APIs, "
        f"{len(tally.targets)} messages and versions; {tally.bytes / max(1, tally.frames):.0f} bytes each"
    )
    if tally.frames < options.frames:
        why = "too many findings" if tally.findings else f"the limit --seconds {options.seconds:g} was reached"
        yield f"  ended before {options.frames:,} frames: {why}"
    processes = plural(options.jobs, "process", "processes")
    yield f"  {tally.frames / took_s:,.0f} frames per second in {processes} ({took_s:.1f} s)"
    yield f"  read {read:,}; incomplete {waits:,}; refused {sum(outcomes.values()):,}:"
    yield from (f"    {count:>12,}  {name}" for name, count in outcomes.items())
    yield f"  written and read back {tally.written:,}; not writable {tally.write_refused:,}"
    yield (
        f"  memory, measured for {tally.measured:,}: at most {small.value:,.0f} bytes for a frame of up to 100 bytes "
        f"(frame {small.number}), {share.value:.0%} of the limit (frame {share.number})"
    )
    yield f"  slowest: {slowest.value * 1000:.2f} ms per kilobyte (frame {slowest.number}); the limit is 10 ms"
    for index, finding in enumerate(tally.findings):
        yield from _finding_lines(finding, options.seed, shrink=index < _FINDINGS_SHRUNK_MAX)
    yield f"{len(tally.findings)} findings" if tally.findings else "no findings"


def _finding_lines(finding: Finding, seed: int, *, shrink: bool) -> Iterator[str]:
    from time import process_time

    from protocol_specs.fuzzing.shrinking import shrunk

    yield f"FINDING: {finding.fault.value}"
    yield f"  {finding.detail}"
    yield from _frame_lines(finding.frame)
    if shrink:
        data = shrunk(finding, process_time)
        yield f"  shrunk: {data.hex()} ({len(data)} bytes)"
    yield f"  repeat: broker-sim protocol hostile --seed {seed} --frame {finding.frame.number}"


def _frame_lines(frame: Frame) -> Iterator[str]:
    yield f"  frame {frame.number}: {frame.target}, {frame.target.route.value} of {len(frame.data)} bytes"
    yield f"  mutations: {'; '.join(map(str, frame.mutations)) or 'none'}"
    shown = frame.data.hex()
    cut = f"... ({len(frame.data)} bytes)" if len(shown) > _HEX_SHOWN_MAX else ""
    yield f"  hex: {shown[:_HEX_SHOWN_MAX]}{cut}"


def _one_frame(campaign: Campaign, number: int) -> tuple[int, list[str]]:
    from time import process_time

    finding, outcome = campaign.check_frame(number, process_time)
    if finding is not None:
        return EXIT_FINDING, list(_finding_lines(finding, campaign.seed, shrink=True))
    return 0, [*_frame_lines(campaign.frame(number)), f"  outcome: {outcome}", "no findings"]
