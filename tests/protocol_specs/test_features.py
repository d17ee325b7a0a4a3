from __future__ import annotations

from protocol_specs import releases
from protocol_specs.features import METADATA_VERSION, level_text, levels


def test_a_metadata_version_has_a_name() -> None:
    assert level_text(METADATA_VERSION, 30) == "30 (4.3-IV0)"
    assert level_text("group.version", 1) == "1"
    assert level_text("no.such.feature", 3) == "3"


def test_levels_ascend_without_a_gap() -> None:
    for known in levels().values():
        numbers = [level.level for level in known]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_every_level_that_a_release_speaks_of_is_known() -> None:
    for name in releases.names():
        for release in releases.modes(name):
            for feature, versions in [*release.supported_features.items(), *release.finalized_features.items()]:
                assert {versions.lowest, versions.highest} <= {level.level for level in levels()[feature]}


def test_a_new_cluster_finalizes_a_metadata_version_of_its_own_minor_release() -> None:
    for name in releases.names():
        level = releases.get(name).finalized_features.get(METADATA_VERSION)
        if level is not None:
            assert level_text(METADATA_VERSION, level.highest).endswith(
                f"({'.'.join(name.split('.')[:2])}-{_iv(level.highest)})"
            )


def _iv(level: int) -> str:
    name = next(known.name for known in levels()[METADATA_VERSION] if known.level == level)
    assert name is not None
    return name.partition("-")[2]
