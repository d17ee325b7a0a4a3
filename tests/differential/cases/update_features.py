"""UpdateFeatures, as raw probes see it. A lasting change is undone: ApiVersions would list it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from protocol_specs.messages.api_versions import ApiVersionsRequest
from protocol_specs.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.differential.case import case
from tests.differential.probe import attempts
from tests.differential.requests import all_versions

if TYPE_CHECKING:
    from tests.differential.probe import Probe

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
METADATA = "metadata.version"
FEATURES = (
    METADATA,
    "kraft.version",
    "transaction.version",
    "group.version",
    "eligible.leader.replicas.version",
    "share.version",
    "streams.version",
)


def to(
    *updates: tuple[str, int], kind: int = UPGRADE, validate: bool = True, timeout_ms: int = 5_000, **fields: Any
) -> UpdateFeaturesRequest:
    """A request to bring features to levels, by default only validated."""
    return UpdateFeaturesRequest(
        timeout_ms=timeout_ms,
        validate_only=validate,
        feature_updates=[
            FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind, **fields)
            for name, level in updates
        ],
    )


def show_finalized(probe: Probe, note: str, awaited: tuple[str, int] | None = None) -> None:
    """Record the response of ApiVersions, once it has the awaited level: a broker learns of a change later."""
    for _ in attempts(f"{awaited} to be listed"):
        response: Any = probe.quiet(ApiVersionsRequest(client_software_name="probe", client_software_version="1"), 3)
        levels = {each.name: each.max_version_level for each in response.finalized_features}
        if awaited is None or levels.get(awaited[0], 0) == awaited[1]:
            break
    probe.write(note=note, finalized=levels)


@case()
def no_updates(probe: Probe) -> None:
    for version in all_versions(UpdateFeaturesRequest):
        probe.exchange(to(), version)
        probe.exchange(to(validate=False), version, note="for good")


@case()
def unknown_features(probe: Probe) -> None:
    for version in range(3):
        probe.exchange(to(("zzz", 1)), version)
        probe.exchange(to(("zzz", 0), kind=SAFE_DOWNGRADE), version, note="level 0")
        probe.exchange(to(("", 1)), version, note="empty name")
        probe.exchange(to(("zzz", 1), ("yyy", 1)), version, note="two")


@case()
def levels_upwards(probe: Probe) -> None:
    for name in FEATURES:
        for level in (-1, 0, 1, 2, 3, 6, 7, 8, 18, 19, 20, 29, 30, 31, 99, 32_767):
            probe.exchange(to((name, level)), 1, note=f"{name} {level}")


@case()
def levels_downwards(probe: Probe) -> None:
    for kind in (SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        for name in FEATURES:
            for level in (-1, 0, 1, 2, 6, 7, 8, 18, 19, 20, 22, 23, 24, 28, 29, 30, 31):
                probe.exchange(to((name, level), kind=kind), 1, note=f"{name} {level}, {kind}")


@case()
def unknown_upgrade_types(probe: Probe) -> None:
    for version in (1, 2):
        for kind in (0, 4, -1, 127):
            for name, level in ((METADATA, 19), (METADATA, 7), ("zzz", 1), ("share.version", 0)):
                probe.exchange(to((name, level), kind=kind), version, note=f"{name} {level}, {kind}")


@case()
def version_0_allows_a_downgrade_by_flag(probe: Probe) -> None:
    for allow in (True, False):
        for name, level in (("zzz", 1), (METADATA, 99), (METADATA, 0), ("zzz", 0)):
            probe.exchange(to((name, level), allow_downgrade=allow), 0, note=f"{name} {level}, {allow}")


@case()
def several_at_once(probe: Probe) -> None:
    for version in (1, 2):
        probe.exchange(to((METADATA, 19), ("zzz", 1)), version, note="good and bad")
        probe.exchange(to(("zzz", 1), (METADATA, 99)), version, note="both bad")
        probe.exchange(to((METADATA, 99), ("zzz", 1)), version, note="both bad, the other way")
        probe.exchange(
            to((METADATA, 30), ("share.version", 1), ("group.version", 1)), version, note="three as they are"
        )
        probe.exchange(to((METADATA, 19), (METADATA, 19)), version, note="the same twice")
        probe.exchange(to((METADATA, 19), (METADATA, 99)), version, note="the same twice, other levels")
        probe.exchange(to((METADATA, 30), (METADATA, 30)), version, note="30 twice")
        probe.exchange(to((METADATA, 99), (METADATA, 30)), version, note="30 at last")
        probe.exchange(to(*((name, 99) for name in FEATURES)), version, note="all bad")
        probe.exchange(to(*((name, 99) for name in reversed(FEATURES))), version, note="all bad, the other way")
        names = ("a", "b", "c", "d", "features", "of", "mine", "x.version", "zz", "Aa", "BB", "AaAa", "BBBB", "AaBB")
        for first, second in pairwise(names):
            probe.exchange(to((first, 1), (second, 1)), version, note=f"{first} and {second}")
            probe.exchange(to((second, 1), (first, 1)), version, note=f"{second} and {first}")
        probe.exchange(to(*((name, 1) for name in names)), version, note="many")


@case(releases=("3.7.2",))
def the_metadata_version_goes_down_and_up_again(probe: Probe) -> None:
    show_finalized(probe, "before")
    for level, kind in ((16, SAFE_DOWNGRADE), (16, UNSAFE_DOWNGRADE), (17, UPGRADE), (17, SAFE_DOWNGRADE)):
        probe.exchange(to((METADATA, level), kind=kind, validate=False), 1, note=f"{level}, {kind}")
    show_finalized(probe, "down", (METADATA, 17))
    for level, kind in ((16, SAFE_DOWNGRADE), (18, SAFE_DOWNGRADE), (18, UPGRADE), (20, UPGRADE)):
        probe.exchange(to((METADATA, level), kind=kind, validate=False), 1, note=f"{level}, {kind}")
    show_finalized(probe, "one up", (METADATA, 18))
    probe.exchange(to((METADATA, 17), allow_downgrade=False, validate=False), 0, note="down, not allowed")
    probe.exchange(to((METADATA, 17), allow_downgrade=True, validate=False), 0, note="down, allowed")
    probe.exchange(to(("zzz", 1), (METADATA, 19), validate=False), 1, note="up, beside a bad one")
    show_finalized(probe, "after", (METADATA, 19))


@case()
def timeouts(probe: Probe) -> None:
    for timeout_ms in (0, -1, 2**31 - 1, -(2**31)):
        probe.exchange(to(("zzz", 1), timeout_ms=timeout_ms), 1, note=str(timeout_ms))
        probe.exchange(to(timeout_ms=timeout_ms), 1, note=f"{timeout_ms}, no updates")


@case(releases=("4.3.1",))
def a_feature_goes_down_and_up_again(probe: Probe) -> None:
    show_finalized(probe, "before")
    for name in ("share.version", "streams.version", "group.version"):
        for kind in (UPGRADE, SAFE_DOWNGRADE):
            probe.exchange(to((name, 0), kind=kind, validate=False), 1, note=f"{name} down, {kind}")
        show_finalized(probe, f"{name} down", (name, 0))
        probe.exchange(to((name, 0), kind=SAFE_DOWNGRADE, validate=False), 2, note=f"{name} down again")
        probe.exchange(to((name, 0), kind=UPGRADE, validate=False), 2, note=f"{name} up to 0")
        probe.exchange(to((name, 1), kind=SAFE_DOWNGRADE, validate=False), 2, note=f"{name} down to 1")
        probe.exchange(to((name, 2), validate=False), 2, note=f"{name} too far up")
        probe.exchange(to((name, 1), validate=True), 2, note=f"{name} up, validated")
        show_finalized(probe, f"{name} still down", (name, 0))
        probe.exchange(to((name, 1), validate=False), 2, note=f"{name} up")
        probe.exchange(to((name, 1), validate=False), 1, note=f"{name} up again")
    show_finalized(probe, "after", (name, 1))


@case()
def the_same_level_for_good(probe: Probe) -> None:
    level = {"3.7.2": 19, "4.3.1": 30}[probe.release]
    for version in range(3):
        for kind in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
            probe.exchange(to((METADATA, level), kind=kind, validate=False), version, note=str(kind))
    show_finalized(probe, "after")


@case()
def bodies_that_are_wrong(probe: Probe) -> None:
    for version, body, note in (
        (0, b"", "empty"),
        (0, b"\0\0\x75\x30\0\0", "null updates"),
        (0, b"\0\0\x75\x30\1\0", "no updates"),
        (1, b"\0\0\x75\x30\1\1", "no tags"),
        (1, b"\0\0\x75\x30\1\1\0more", "more bytes"),
        (1, b"\0\0\x75\x30\2\0\0\1\1\0\1\0", "null feature"),
        (1, b"\0\0\x75\x30\1\7\0", "a flag of 7"),
    ):
        probe.raw_body(57, version, body, note=note)
