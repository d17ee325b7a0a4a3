"""The declarations as Markdown: one page per API and per family of schemas. Mirrors Kafka's protocol guide.

The content of a page comes from the declarations, the release tables and the error codes, so that it cannot disagree
with the codec. `pages` is deterministic; a test compares it with the checkout.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from protocol_specs import lookup, release_history, releases
from protocol_specs.api_key import ApiKey
from protocol_specs.layout import field_rows, header_version, versions_text
from protocol_specs.reference_tables import error_codes_page, releases_page, table, types_page
from protocol_specs.version_changes import Change, history
from protocol_specs.version_notes import version_note
from protocol_specs.wire_layout import stands_after

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from protocol_specs.lookup import Subject
    from protocol_specs.message import Message
    from protocol_specs.version_changes import VersionChange

GENERATED: Final = "<!-- Made from the declarations by `make docs`; edit those, not this page. -->"

INDEX: Final = "README.md"

_FAMILIES: Final[Mapping[str, tuple[str, str]]] = {
    "headers": ("headers.md", "Headers"),
    "__consumer_offsets": ("consumer-offsets.md", "Records of `__consumer_offsets`"),
    "__share_group_state": ("share-group-state.md", "Records of `__share_group_state`"),
    "__transaction_state": ("transaction-state.md", "Records of `__transaction_state`"),
    "metadata log": ("metadata-log.md", "Records of the metadata log"),
    "__remote_log_metadata": ("remote-log-metadata.md", "Records of `__remote_log_metadata`"),
    "other": ("other-schemas.md", "Control records, the consumer protocol and files"),
}
"""The pages of the schemas that are neither request nor response: family -> (file, title)."""


_LOG: Final = re.compile(r"\b__\w+")


def pages() -> dict[str, str]:
    """Every page: file name -> text."""
    made = {INDEX: _index()}
    for key in ApiKey:
        subject = lookup.api(key)
        made[page_name(subject.name)] = _text(_api_page(subject))
    families: dict[str, list[Subject]] = {}
    for subject in lookup.schemas():
        families.setdefault(subject.family, []).append(subject)
    for family, subjects in families.items():
        file, title = _FAMILIES[family]
        made[file] = _text(_family_page(title, subjects))
    made["types.md"] = _text(types_page())
    made["releases.md"] = _text(releases_page())
    made["error-codes.md"] = _text(error_codes_page())
    return made


def page_name(api_name: str) -> str:
    """The file of an API's page: ListOffsets -> list-offsets.md."""
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in api_name).lstrip("-") + ".md"


def _text(lines: Iterator[str]) -> str:
    title, *rest = lines
    return "\n".join([title, "", GENERATED, *rest]) + "\n"


def _index() -> str:
    newest = releases.names()[-1]
    rows = [("Key", "API", "Versions", "Flexible", f"Listed in {newest}", "What it does")]
    for key in ApiKey:
        subject = lookup.api(key)
        cls = subject.declarations[0]
        listed = releases.get(newest).listeners
        by_listener = [f"{who} {found.api_versions[key]}" for who, found in listed.items() if key in found.api_versions]
        name = f"[{subject.name}]({page_name(subject.name)})"
        rows.append(
            (str(key), name, str(cls.VERSIONS), _flexible(cls), ", ".join(by_listener) or "-", _purpose(subject))
        )
    lines = [
        "# The Kafka protocol",
        "",
        GENERATED,
        "",
        f"Every message of Kafka's wire protocol up to release {newest}, as `protocol_specs` declares it. A page shows",
        "the fields over all versions; `broker-sim protocol show Produce --version 9` prints one version byte by byte,",
        "and `broker-sim protocol diff Metadata 8 12` what changes between two.",
        "",
        "- [How values are encoded](types.md), and the columns of the tables",
        "- [Releases](releases.md): the APIs and features that brokers of each release list",
        "- [Error codes](error-codes.md)",
        *(f"- [{title}]({file})" for file, title in _FAMILIES.values()),
        "",
        "## APIs",
        "",
        *table(rows),
    ]
    return "\n".join(lines) + "\n"


def _api_page(subject: Subject) -> Iterator[str]:
    assert subject.api_key is not None
    request, response = subject.declarations
    yield f"# {subject.name}"
    yield ""
    yield f"API key {subject.api_key}: {_purpose(subject)}."
    yield from subject.details
    if earlier := subject.api_key.facts.earlier_names:
        yield f"Once named {', '.join(earlier)}."
    yield ""
    yield "## Versions"
    yield ""
    yield from table(_version_rows(subject.api_key, request, response))
    if note := release_history.LISTED_BUT_REFUSED.get(subject.api_key):
        yield ""
        yield f"{note}."
    for cls in subject.declarations:
        yield ""
        yield f"## {cls.__name__}"
        yield ""
        yield from _fields(cls)
    yield ""
    yield "## Releases"
    yield ""
    yield from _release_spans(subject.api_key)
    yield ""
    yield f"[All APIs]({INDEX}), [how values are encoded](types.md), [releases](releases.md)"


def _version_rows(api_key: ApiKey, request: type[Message], response: type[Message]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("Version", "Listed by", "Headers", "Request", "Response", "Beyond the layout")]
    histories = [history(request), history(response)]
    for version in request.VERSIONS:
        name = f"{version} (unstable)" if version in request.UNSTABLE else str(version)
        headers = f"{header_version(request, version)}, {header_version(response, version)}"
        changes = [_summed_up(found[version]) if version in found else "-" for found in histories]
        rows.append((name, _listed_by(api_key, version), headers, *changes, version_note(api_key, version) or ""))
    return rows


def _listed_by(api_key: ApiKey, version: int) -> str:
    first, last = release_history.first_release(api_key, version), release_history.last_release(api_key, version)
    if first is None:
        return "none"
    return f"since {first}" if last == releases.names()[-1] else first if first == last else f"{first} to {last}"


def _summed_up(found: Sequence[VersionChange]) -> str:
    """The changes of one version in a cell, without the fields inside a struct that was added or removed."""
    whole = [change.place for change in found if change.change is not Change.CHANGED]
    shown = [
        change for change in found if not any(change.place.startswith((f"{place}.", f"{place}[]")) for place in whole)
    ]
    texts = []
    for change in shown:
        if change.change is Change.CHANGED:
            texts.append(f"{_place(change)}{change.text}")
        else:
            texts.append(f"{change.change.value} {_place(change)}".removesuffix(": "))
    return "<br>".join(texts) or "the same"


def _place(change: VersionChange) -> str:
    return "" if change.place.startswith("(") else f"`{change.place}`: "


def _fields(cls: type[Message]) -> Iterator[str]:
    rows = [
        (f"`{row.place}`", f"`{row.type_name}`", row.versions_text, ", ".join(row.notes)) for row in field_rows(cls)
    ]
    if rows:
        yield from table([("Field", "Type", "Versions", "Notes"), *rows])
    else:
        yield "No fields."


def _release_spans(api_key: ApiKey) -> Iterator[str]:
    spans = release_history.spans(api_key)
    if not any(versions for _, _, versions in spans):
        yield "Brokers list it only when they are configured to (client metrics receivers); no table here has it."
        return
    rows: list[tuple[str, ...]] = [("Releases", "ZooKeeper broker", "KRaft broker", "KRaft controller")]
    for first, last, versions in spans:
        if versions:
            cells = [str(versions.get(who, "-")) for who in release_history.LISTENERS]
            rows.append((first if first == last else f"{first} to {last}", *cells))
    yield from table(rows)


def _family_page(title: str, subjects: Sequence[Subject]) -> Iterator[str]:
    yield f"# {title}"
    for subject in sorted(subjects, key=lambda found: found.declarations[0].RECORD_TYPE):
        yield ""
        yield f"## {subject.name}"
        yield ""
        yield f"{_purpose(subject)[0].upper()}{_purpose(subject)[1:]}."
        yield from (_LOG.sub(r"`\g<0>`", text) for text in subject.details)
        for cls in subject.declarations:
            yield ""
            yield f"### {cls.__name__}"
            yield ""
            yield f"Versions {cls.VERSIONS}, flexible {_flexible(cls)}{_before(cls)}."
            yield ""
            yield from _fields(cls)
            changed = {version: found for version, found in history(cls).items() if found}
            if changed:
                yield ""
                yield from (
                    f"- v{version}: {_summed_up(found).replace('<br>', ', ')}" for version, found in changed.items()
                )
    yield ""
    yield f"[All APIs]({INDEX}), [how values are encoded](types.md)"


def _before(cls: type[Message]) -> str:
    """The bytes before the newest version, as the end of a sentence."""
    before = stands_after(cls, cls.VERSIONS.highest)
    return f"; v{cls.VERSIONS.highest} follows {before}" if before else ""


def _flexible(cls: type[Message]) -> str:
    return versions_text(cls.FLEXIBLE.intersection(cls.VERSIONS), cls.VERSIONS.highest)


def _purpose(subject: Subject) -> str:
    return subject.summary.partition(": ")[2].removesuffix(".")
