"""docs/reference/scenario-files.md, from the code: `python -m broker_scenarios.language.reference_page` prints it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from broker_scenarios.invariants import INVARIANTS
from broker_scenarios.language.draws import CHANCE_MEANING
from broker_scenarios.language.kinds import Choice, Keys, ListOf, Named
from broker_scenarios.language.schema import SCENARIO, MeasureKind
from broker_scenarios.language.step_forms import STEPS
from broker_scenarios.measures import MEASURES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.language.kinds import Kind

__all__ = ["reference_page"]

INTRODUCTION: Final = f"""\
# Scenario files

`make docs` writes this page from the code. [How to write a scenario](../how-to/write-a-scenario.md) begins with the
smallest file. `broker-sim schema` prints the same keys as a JSON schema for editors. Keys in bold are required; a file
with a `base` takes those that it does not state from there. A count is a number, `>= N` or `<= N`. The seed may draw
most values: `{{uniform: [1, 5]}}` is a number from 1 to 5, `{{one_of: [all, 1]}}` one of the values.

The keys of rules are in [fault rules](faults.md). A rule of a file may also have a `chance`: {CHANCE_MEANING}.
The names for `defects` are in [broker defects](defects.md) and [client defects](client-defects.md)."""


def reference_page() -> str:
    """Return the page in Markdown."""
    return "\n".join([INTRODUCTION, *_sections(), *_steps(), *_measures(), *_invariants()]) + "\n"


def _sections() -> Iterator[str]:
    yield "\n## The file\n"
    yield from _rows(SCENARIO)
    for name, key in SCENARIO.keys.items():
        if name != "flip":
            yield from _nested(name, key.kind)
    yield "\n## `flip`\n"
    yield "`why`, and any key of the file from `release` to `deadline_s` with what differs. A mapping is merged by key,"
    yield "`null` takes a key away, and `expect` is replaced as a whole."


def _nested(place: str, kind: Kind) -> Iterator[str]:
    """Yield a section for each mapping with known keys below a key."""
    if isinstance(kind, Named):
        yield from _nested(f"{place}.NAME", kind.value)
    elif isinstance(kind, ListOf):
        yield from _nested(f"{place}[]", kind.value)
    elif isinstance(kind, Keys):
        yield f"\n## `{place}`\n"
        yield from _rows(kind)
        for name, key in kind.keys.items():
            yield from _nested(f"{place}.{name}", key.kind)


def _rows(keys: Keys) -> Iterator[str]:
    yield "| key | meaning | example |\n|---|---|---|"
    for name, key in keys.keys.items():
        shown = f"**`{name}`**" if name in keys.required else f"`{name}`"
        yield f"| {shown} | {_cell(key.meaning)} | `{name}: {_cell(flow(key.example))}` |"


def _steps() -> Iterator[str]:
    yield "\n## Steps of a script\n"
    yield "A step is a word, such as `flush`, or a key with its value. Steps run one after another; each instance of a"
    yield "client with a `count` plays the script.\n"
    yield "| step | meaning | client needs | example |\n|---|---|---|---|"
    for word, form in STEPS.items():
        example = word if form.example is None else f"{word}: {flow(form.example)}"
        needs = "" if form.needs is None else f"`{form.needs}`"
        yield f"| `{word}` | {_cell(form.meaning)} | {needs} | `{_cell(example)}` |"
    yield "\n### Keys of steps\n"
    yield "| step | key | meaning | example |\n|---|---|---|---|"
    for word, form in STEPS.items():
        keys = form.kind.otherwise if isinstance(form.kind, Choice) else form.kind
        if isinstance(keys, Keys):
            for name, key in keys.keys.items():
                shown = f"**`{name}`**" if name in keys.required else f"`{name}`"
                yield f"| `{word}` | {shown} | {_cell(key.meaning)} | `{name}: {_cell(flow(key.example))}` |"


def _measures() -> Iterator[str]:
    yield "\n## Measures\n"
    yield "An entry of `expect.measures` names the measure (`measure`), the count that it must be (`is`), and by the"
    yield "keys below the part of the run.\n"
    yield "| measure | meaning | keys |\n|---|---|---|"
    for name, measure in MEASURES.items():
        yield f"| `{name}` | {_cell(measure.meaning)} | {', '.join(f'`{key}`' for key in measure.keys)} |"
    yield "\n| key | meaning | example |\n|---|---|---|"
    for name, meaning, example in MeasureKind.select_keys():
        yield f"| `{name}` | {_cell(meaning)} | `{name}: {flow(example)}` |"


def _invariants() -> Iterator[str]:
    yield "\n## Invariants\n"
    yield "The names for `always`. `expect` can have each as a finding, such as `one-leader-per-epoch: 0`.\n"
    yield "| invariant | what holds at every event |\n|---|---|"
    for name, invariant in INVARIANTS.items():
        yield f"| `{name}` | {_cell(invariant.claim)} |"


def flow(value: object) -> str:
    """Return a value as flow-style YAML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str) and (value[:1] in "<>*&!%@" or ": " in value):
        return f'"{value}"'
    return str(value).lower() if isinstance(value, bool) else str(value)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(reference_page())
