"""The pages of the reference beside those of messages: encodings, releases with features, error codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from protocol_specs import releases
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode
from protocol_specs.features import level_text, levels
from protocol_specs.wire_layout import LEGEND

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from protocol_specs.releases import Release

_INDEX_LINK: Final = "[All APIs](README.md)"

_ENCODINGS: Final = """\
# How values are encoded

A frame is an int32 size, then that many bytes: a header, then the message, whose fields follow each other without
padding. From its first flexible version on (KIP-482), lengths and counts are compact and every struct ends with a tag
section. Which [header](headers.md) goes before which version is in the table of versions of each API.

## Encodings

"""

_FIELDS: Final = """
Elements of an array are never null. A tagged field at its default is left out; unknown tags are skipped by size.

## How to read the tables

- *Headers*: the versions of the request's and of the response's header.
- *Request*, *Response*: fields that a version adds (`+`), removes (`-`) or changes; *Beyond the layout*: other changes.
- *Field*: the path from the top of the message; `[]` is each element of an array.
- *Versions*: those that carry the field; `3+` reaches the newest.
- *nullable*: null is allowed; in the named versions alone, if some are named.
- *tag*: a tagged field with that number, in the tag section of its struct.
- *default*: the value where a version does not carry the field; the zero value of the type when none is named.
- *ignorable*: a writer may drop the value in a version without the field; without it that is an error.
- *map key*: the key of the array's elements. *entity*: the kind of thing that the value names."""

_RELEASES: Final = """\
# Releases

The APIs in the ApiVersions response of brokers of these releases with their default configuration. Up to 0.9 there is
no ApiVersions, and the tables hold the versions that those brokers parse. The page of each API has its versions by
release.

"""

_FEATURES: Final = """
## Features

The features of a new cluster (KIP-584). ApiVersions v3 omits supported features that begin at level 0; v4 lists them.

"""

_ERROR_CODES: Final = """\
# Error codes

*Family* is the nearest of the exception classes that decide how Kafka's clients react; *since* is the first release
that has the code (0.8.2.2: that one or an earlier).

"""


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A Markdown table with its first row as head; `|` inside a cell is escaped."""
    head, *body = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    yield from (f"| {' | '.join(row)} |" for row in body)


def types_page() -> Iterator[str]:
    """The page about encodings and the columns of the other pages."""
    yield from _ENCODINGS.splitlines()
    yield from table([("Encoding", "Bytes"), *((f"`{name}`", meaning) for name, meaning in LEGEND.items())])
    yield from _FIELDS.splitlines()
    yield ""
    yield _INDEX_LINK


def releases_page() -> Iterator[str]:
    """The page of releases: the number of APIs per listener, and features."""
    chosen = [release for name in releases.names() for release in releases.modes(name)]
    yield from _RELEASES.splitlines()
    rows: list[tuple[str, ...]] = [
        ("Release", "Mode", "Source", "APIs of the broker", "APIs of the controller", "ApiVersions")
    ]
    rows += [_release_row(release) for release in chosen]
    yield from table(rows)
    yield from _FEATURES.splitlines()
    yield from table(_feature_rows(chosen))
    yield ""
    yield "## Feature levels"
    yield ""
    yield from table(_level_rows())
    yield ""
    yield _INDEX_LINK


def _release_row(release: Release) -> tuple[str, ...]:
    counts = [str(len(listener.api_versions)) for listener in release.listeners.values()]
    source = "observed" if release.observed else "sources"
    mode = "ZooKeeper" if release.mode.value == "zk" else "KRaft"
    return (
        release.name,
        mode,
        source,
        counts[0],
        counts[1] if counts[1:] else "-",
        str(release.api_versions.get(ApiKey.API_VERSIONS, "-")),
    )


def _feature_rows(chosen: Sequence[Release]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("Release", "Feature", "Supported levels", "Finalized level")]
    for release in chosen:
        supported, finalized = release.supported_features, release.finalized_features
        for feature in sorted({*supported, *finalized}):
            level = level_text(feature, finalized[feature].highest) if feature in finalized else "-"
            rows.append((release.name, f"`{feature}`", str(supported.get(feature, "-")), level))
    return rows


def _level_rows() -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("Feature", "Level", "Name", "Came with", "Needs")]
    for feature, known in levels().items():
        for level in known:
            needs = ", ".join(f"`{name}` {needed}" for name, needed in level.needs.items())
            came = level.from_metadata_version or ""
            rows.append((f"`{feature}`", str(level.level), level.name or "", came, needs))
    return rows


def error_codes_page() -> Iterator[str]:
    """Every error code with its Java exception, and the exception class that decides how a client reacts."""
    yield from _ERROR_CODES.splitlines()
    rows = [("Code", "Name", "Family", "Java exception", "Since")]
    for code in ErrorCode:
        family = code.family.name.lower().replace("_", " ")
        rows.append(
            (str(int(code)), f"`{code.name}`", family, f"`{code.exception}`" if code.exception else "", code.since)
        )
    yield from table(rows)
    yield ""
    yield _INDEX_LINK
