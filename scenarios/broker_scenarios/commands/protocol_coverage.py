"""`broker-sim protocol coverage`: the proof of each version of each message. Counts (message, version) pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from protocol_specs.coverage import Count, Coverage, Pair

_KINDS: Final = {
    "request": "requests",
    "response": "responses",
    "header": "headers",
    "coordinator_key": "coordinator keys",
    "coordinator_value": "coordinator values",
    "metadata": "metadata records",
    "data": "other schemas",
}


def add(subcommands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the subcommand."""
    parser = subcommands.add_parser("coverage", help="count what proves each version of each message, and by whom")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--api", metavar="NAME", help="the versions of one API (name or key) or schema, one by one")
    which.add_argument(
        "--missing", action="store_true", help="only the versions that no peer proves, or that nothing does"
    )
    parser.add_argument("--json", action="store_true", help="JSON for machines")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the table; raises UnknownApi. Exit status 1 if a version has neither a proof nor an excuse."""
    import json

    from broker_scenarios.commands.result_lines import print_lines
    from protocol_specs import coverage, lookup

    table = coverage.load()
    declarations = lookup.find(options.api).declarations if options.api else None
    pairs = list(table.pairs(declarations))
    if options.missing:
        pairs = [pair for pair in pairs if not pair.peers]
    if options.json:
        print_lines([json.dumps(_json(table, pairs, with_pairs=bool(options.api) or options.missing), indent=1)])
    elif options.api:
        print_lines(_version_lines(table, pairs))
    elif options.missing:
        print_lines(_missing_lines(pairs))
    else:
        print_lines(_count_lines(table, pairs))
    counted = table.count(pairs)
    return 1 if counted.nothing > counted.excused else 0


def _count_lines(table: Coverage, pairs: list[Pair]) -> Iterator[str]:
    from broker_scenarios.commands.text_columns import columns
    from protocol_specs.coverage import VECTORS, by_kind

    names = [source.name for source in table.sources]
    rows = [("versions of", "declared", VECTORS, "a peer", *names[1:], "nothing")]
    for kind, some in by_kind(pairs).items():
        rows.append(_row(_KINDS[kind.value], table.count(some), names))
    rows.append(_row("total", table.count(pairs), names))
    yield from columns(rows)
    yield ""
    yield from columns([(source.name, source.version, source.run_by, source.proof) for source in table.sources])
    if unstable := [_name(pair) for pair in pairs if pair.is_unstable]:
        yield ""
        yield f"unstable among them: {', '.join(unstable)}"
    for pair in pairs:
        if pair.excuse:
            yield f"no source for {_name(pair)}: {pair.excuse}"


def _row(title: str, count: Count, names: list[str]) -> tuple[str, ...]:
    by_source = [count.by_source[name] for name in names]
    return (
        title,
        *(str(number) for number in (count.declared, by_source[0], count.by_a_peer, *by_source[1:], count.nothing)),
    )


def _version_lines(table: Coverage, pairs: list[Pair]) -> Iterator[str]:
    from broker_scenarios.commands.text_columns import columns

    names = [source.name for source in table.sources]
    rows = [("message", "version", *names, "notes")]
    for pair in pairs:
        marks = ["yes" if name in pair.sources else "-" for name in names]
        rows.append((pair.cls.__name__, str(pair.version), *marks, _notes(pair)))
    yield from columns(rows)


def _missing_lines(pairs: list[Pair]) -> Iterator[str]:
    from broker_scenarios.commands.text_columns import columns

    if not pairs:
        yield "each declared version is proven by a peer"
        return
    yield "proven by no peer:"
    yield from columns(
        [(_name(pair), ", ".join(pair.sources) or "NOTHING", _notes(pair)) for pair in pairs], indent="  "
    )


def _name(pair: Pair) -> str:
    return f"{pair.cls.__name__} v{pair.version}"


def _notes(pair: Pair) -> str:
    """Describe the releases that list the version, whether it is unstable, and why it has no proof."""
    parts = [_listed(pair)] if pair.cls.API_KEY >= 0 else []
    if pair.is_unstable:
        parts.append("unstable")
    if not pair.sources:
        parts.append(pair.excuse or "proven by nothing")
    return "; ".join(parts)


def _listed(pair: Pair) -> str:
    from protocol_specs import release_history

    first = release_history.first_release(pair.cls.API_KEY, pair.version)
    last = release_history.last_release(pair.cls.API_KEY, pair.version)
    return f"listed {first} to {last}" if first else "listed by no release"


def _json(table: Coverage, pairs: list[Pair], *, with_pairs: bool) -> dict[str, Any]:
    from protocol_specs.coverage import by_kind

    made: dict[str, Any] = {
        "sources": {s.name: {"version": s.version, "proof": s.proof, "run_by": s.run_by} for s in table.sources},
        "kinds": {kind.value: _counted(table.count(some)) for kind, some in by_kind(pairs).items()},
        "total": _counted(table.count(pairs)),
    }
    if with_pairs:
        made["pairs"] = [
            {
                "message": pair.cls.__name__,
                "version": pair.version,
                "sources": list(pair.sources),
                "unstable": pair.is_unstable,
            }
            | ({"excuse": pair.excuse} if pair.excuse else {})
            for pair in pairs
        ]
    return made


def _counted(count: Count) -> dict[str, Any]:
    return {
        "declared": count.declared,
        "by_source": dict(count.by_source),
        "by_a_peer": count.by_a_peer,
        "nothing": count.nothing,
        "excused": count.excused,
    }
