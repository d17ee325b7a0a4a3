"""`broker-sim configs`: every configuration of a release, and whether it has an effect here. Mirrors ConfigDef.

`python -m broker_scenarios.commands.configs` prints docs/reference/configurations.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from broker_sim.config.definitions import ConfigDefinition

KINDS: Final = ("broker", "topic", "group", "client-metrics", "authorizer", "simulator")
"""`authorizer`: those that a broker passes on to its authorizer; `simulator`: those that Kafka does not have."""
NEAREST_MAX: Final = 3
DEFAULT_SHOWN_MAX: Final = 40


class Row(NamedTuple):
    """One listed configuration; `effect` is True if the simulator acts on it."""

    kind: str
    definition: ConfigDefinition
    effect: bool


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "configs", help="list every configuration: type, default, valid values, update mode, effect"
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="the configurations to list (default: all)")
    parser.add_argument("--release", default="4.3.1", metavar="RELEASE", help="the release (default: %(default)s)")
    parser.add_argument("--kind", choices=KINDS, help="what has the configuration (default: all of them)")
    effect = parser.add_mutually_exclusive_group()
    effect.add_argument("--with-effect", action="store_true", help="only those that something acts on")
    effect.add_argument("--without-effect", action="store_true", help="only those that are known and shown alone")
    parser.add_argument("--json", action="store_true", help="JSON for machines")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the table; raises ConfigError for an unknown release, ScenarioError for an unknown name."""
    import json

    from broker_scenarios.commands.result_lines import print_lines
    from broker_scenarios.commands.text_columns import columns

    rows = _chosen(rows_of(options.release, options.kind), options.names, options.release)
    if options.with_effect or options.without_effect:
        rows = [row for row in rows if row.effect is bool(options.with_effect)]
    if options.json:
        print_lines([json.dumps([_as_json(row) for row in rows], indent=1)])
        return 0
    table: list[tuple[str, ...]] = [("kind", "name", "type", "default", "update", "effect", "valid")]
    table += [_shown(row) for row in rows]
    print_lines(columns(table))
    return 0


def rows_of(release: str, kind: str | None = None) -> list[Row]:
    """Every configuration of a release, by kind and name."""
    from broker_sim.config import config_effect, definitions
    from broker_sim.config.simulator_configs import AUTHORIZER_DEFINITIONS, SIMULATOR_DEFINITIONS

    sources: Mapping[str, tuple[Callable[[str], Mapping[str, ConfigDefinition]], Callable[[str, str], bool]]] = {
        "broker": (definitions.broker_definitions, config_effect.has_effect),
        "topic": (definitions.topic_definitions, config_effect.topic_config_has_effect),
        "group": (definitions.group_definitions, _always),
        "client-metrics": (definitions.client_metrics_definitions, _always),
        "authorizer": (lambda _: AUTHORIZER_DEFINITIONS, _always),
        "simulator": (lambda _: SIMULATOR_DEFINITIONS, _always),
    }
    return [
        Row(each, definition, effect(name, release))
        for each in ([kind] if kind else KINDS)
        for defined, effect in [sources[each]]
        for name, definition in defined(release).items()
    ]


def reference_page(release: str) -> str:
    """Return the page of a release in Markdown."""
    lines = [
        f"# Configurations of release {release}\n",
        "`make docs` writes this page from the code; `broker-sim configs --release R` lists those of every emulated",
        "release. `effect` is `no` for one that is known, checked and described, and that nothing acts on.\n",
        "A broker has its configurations from `serve -o`, `ThreadedCluster(config=...)` or a scenario file; a topic",
        "and a group have theirs from any admin client. Producers have [a page of their own](producer-configs.md).",
    ]
    for kind in KINDS:
        lines += [f"\n## {kind}\n", "| name | type | default | update | effect | valid |\n|---|---|---|---|---|---|"]
        for row in rows_of(release, kind):
            _, name, *others = _shown(row)
            lines.append(f"| `{name}` | {' | '.join(text.replace('|', chr(92) + '|') for text in others)} |")
    return "\n".join(lines) + "\n"


def _always(name: str, release: str) -> bool:  # noqa: ARG001 - same signature as the other functions
    """The coordinators act on all of a group's; subscriptions define which metrics clients push, and how often."""
    return True


def _chosen(rows: list[Row], names: Sequence[str], release: str) -> list[Row]:
    from broker_scenarios.errors import ScenarioError
    from protocol_specs.spelling import close_names

    known = [row.definition.name for row in rows]
    for name in names:
        if name not in known:
            close = close_names(name, known, count=NEAREST_MAX)
            hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
            raise ScenarioError(f"unknown configuration {name!r} for release {release}{hint}")
    return [row for row in rows if not names or row.definition.name in names]


def _shown(row: Row) -> tuple[str, ...]:
    definition = row.definition
    return (
        row.kind,
        definition.name,
        definition.type.name.lower(),
        _default(definition),
        definition.update_mode or "dynamic",
        "yes" if row.effect else "no",
        "; ".join(_valid(definition)) or "-",
    )


def _default(definition: ConfigDefinition) -> str:
    from broker_sim.config.values import render_value

    if definition.required:
        return "(required)"
    text = render_value(definition, definition.default)
    if text is None:
        return "null"
    return text if len(text) <= DEFAULT_SHOWN_MAX else f"{text[: DEFAULT_SHOWN_MAX - 3]}..."


def _valid(definition: ConfigDefinition) -> Iterator[str]:
    if definition.minimum is not None:
        yield f"at least {definition.minimum}"
    if definition.maximum is not None:
        yield f"at most {definition.maximum}"
    if definition.also:
        yield f"or {definition.also[0]}"
    if definition.one_of:
        yield f"one of {', '.join(definition.one_of)}"
    if definition.list_of:
        yield f"of {', '.join(definition.list_of)}"
    if definition.rule:
        yield definition.rule


def _as_json(row: Row) -> dict[str, object]:
    definition = row.definition
    return {
        "kind": row.kind,
        "name": definition.name,
        "type": definition.type.name.lower(),
        "default": definition.default,
        "valid": list(_valid(definition)),
        "update_mode": definition.update_mode or "dynamic",
        "sensitive": definition.sensitive,
        "effect": row.effect,
    }


if __name__ == "__main__":
    import sys

    sys.stdout.write(reference_page("4.3.1"))
