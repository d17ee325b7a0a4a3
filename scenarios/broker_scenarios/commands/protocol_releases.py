"""`broker-sim protocol releases`: the versions and features of each release (KIP-35, KIP-584)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from protocol_specs.lookup import Subject
    from protocol_specs.release_history import ReleaseRow
    from protocol_specs.releases import Features, Release


def add(subcommands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the subcommand."""
    parser = subcommands.add_parser(
        "releases", help="list the releases, an API through them, or one release's features"
    )
    parser.add_argument(
        "what", nargs="?", metavar="API|RELEASE", help="an API by name or key, or a release such as 3.7"
    )
    parser.add_argument("--features", action="store_true", help="the features of each release instead")
    parser.add_argument("--json", action="store_true", help="JSON for machines")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the table; raises UnknownApi and UnknownRelease."""
    import json

    from broker_scenarios.commands.result_lines import print_lines
    from broker_scenarios.errors import ScenarioError
    from protocol_specs import releases

    what: str | None = options.what
    if what is not None and options.features:
        raise ScenarioError(f"--features lists every release: leave {what!r} out, or request a release alone")
    if what is None:
        chosen = [release for name in releases.names() for release in releases.modes(name)]
        lines = _feature_lines(chosen) if options.features else _overview(chosen)
        made: Any = [_release_json(release) for release in chosen]
    elif _is_release(what):
        chosen = list(releases.modes(what))
        lines, made = _detail_lines(chosen), [_release_json(release) for release in chosen]
    else:
        subject = _api(what)
        lines, made = _api_lines(subject), _api_json(subject)
    print_lines([json.dumps(made, indent=1)] if options.json else lines)
    return 0


def _is_release(text: str) -> bool:
    """A release has a dot between numbers; an API key has none."""
    return "." in text and text[:1].isdecimal()


def _api(text: str) -> Subject:
    from broker_scenarios.errors import ScenarioError
    from protocol_specs import lookup

    subject = lookup.find(text)
    if subject.api_key is None:
        raise ScenarioError(f"{subject.name} is no API: releases list the versions of APIs alone")
    return lookup.api(subject.api_key)


def _overview(chosen: list[Release]) -> Iterator[str]:
    from broker_scenarios.commands.text_columns import columns
    from protocol_specs.api_key import ApiKey
    from protocol_specs.features import METADATA_VERSION, level_text

    rows = [("release", "mode", "source", "broker", "controller", "ApiVersions", "metadata.version")]
    for release in chosen:
        counts = [len(table.api_versions) for table in release.listeners.values()]
        level = release.finalized_features.get(METADATA_VERSION)
        rows.append(
            (
                release.name,
                release.mode.value,
                "observed" if release.observed else "sources",
                f"{counts[0]} APIs",
                f"{counts[1]} APIs" if len(counts) > 1 else "-",
                str(release.api_versions.get(ApiKey.API_VERSIONS, "-")),
                level_text(METADATA_VERSION, level.highest) if level else "-",
            )
        )
    yield from columns(rows)


def _feature_lines(chosen: list[Release]) -> Iterator[str]:
    from broker_scenarios.commands.text_columns import columns

    rows = [("release", "feature", "supported", "finalized in a new cluster")]
    for release in chosen:
        features = release.listeners["broker"].features
        if not features:
            continue
        newest = features[max(features)]
        for feature, supported, finalized in _levels(newest):
            rows.append((f"{release.name} {release.mode.value}", feature, supported, finalized))
    yield from columns(rows)


def _levels(features: Features) -> Iterator[tuple[str, str, str]]:
    """Describe the supported and the finalized level of each feature."""
    from protocol_specs.features import level_text

    for feature in sorted({*features.supported, *features.finalized}):
        supported, finalized = features.supported.get(feature), features.finalized.get(feature)
        yield feature, str(supported or "-"), level_text(feature, finalized.highest) if finalized else "-"


def _detail_lines(chosen: list[Release]) -> Iterator[str]:
    from broker_scenarios.commands.text_columns import columns

    for number, release in enumerate(chosen):
        if number:
            yield ""
        source = "as its broker responded" if release.observed else "from its sources, as it has no ApiVersions"
        yield f"Kafka {release.name}, {'ZooKeeper' if release.mode.value == 'zk' else 'KRaft'} mode, {source}"
        for listener, table in release.listeners.items():
            yield f"  {listener} listener: {len(table.api_versions)} APIs"
            for version, features in table.features.items():
                epoch = "with" if features.finalized_epoch_sent else "without"
                yield f"    features in ApiVersions v{version}, {epoch} an epoch" + ("" if _any(features) else ": none")
                rows = [("feature", "supported", "finalized"), *_levels(features)]
                yield from columns(rows if _any(features) else [], indent="      ")
    yield ""
    yield f"broker-sim protocol list --release {chosen[0].name} lists its APIs."


def _any(features: Features) -> bool:
    return bool(features.supported or features.finalized)


def _api_lines(subject: Subject) -> Iterator[str]:
    from broker_scenarios.commands.text_columns import columns, paragraph
    from protocol_specs import release_history
    from protocol_specs.release_history import LISTENERS

    assert subject.api_key is not None
    yield from paragraph(subject.summary)
    yield ""
    rows: list[tuple[str, ...]] = [("release", *LISTENERS, "change")]
    for row in release_history.rows(subject.api_key):
        cells = [str(row.versions.get(who, "-")) if who in row.listeners else "" for who in LISTENERS]
        rows.append((row.release, *cells, ", ".join(_change(row, who) for who in row.changed)))
    yield from columns(rows)
    yield ""
    yield "-: not listed; empty: the release has no such listener"
    if note := release_history.LISTED_BUT_REFUSED.get(subject.api_key):
        yield from paragraph(f"{note}.")


def _change(row: ReleaseRow, who: str) -> str:
    return f"{who} {row.versions.get(who, '-')}" if who in row.listeners else f"no {who}"


def _api_json(subject: Subject) -> dict[str, Any]:
    from protocol_specs import release_history

    assert subject.api_key is not None
    rows = [
        {"release": row.release} | {who: [versions.lowest, versions.highest] for who, versions in row.versions.items()}
        for row in release_history.rows(subject.api_key)
    ]
    note = release_history.LISTED_BUT_REFUSED.get(subject.api_key)
    return {"name": subject.name, "api_key": subject.api_key, "releases": rows} | ({"note": note} if note else {})


def _release_json(release: Release) -> dict[str, Any]:
    return {
        "release": release.name,
        "mode": release.mode.value,
        "observed": release.observed,
        "listeners": {
            listener: {
                "apis": {str(key): [versions.lowest, versions.highest] for key, versions in table.api_versions.items()},
                "features": {f"v{version}": _features_json(features) for version, features in table.features.items()},
            }
            for listener, table in release.listeners.items()
        },
    }


def _features_json(features: Features) -> dict[str, Any]:
    return {
        "supported": {name: [levels.lowest, levels.highest] for name, levels in features.supported.items()},
        "finalized": {name: [levels.lowest, levels.highest] for name, levels in features.finalized.items()},
        "finalized_epoch_sent": features.finalized_epoch_sent,
    }
