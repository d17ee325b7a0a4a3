from __future__ import annotations

import pickle

import pytest

from protocol_specs import releases
from protocol_specs.errors import UnknownRelease
from protocol_specs.releases import Mode
from protocol_specs.version_range import VersionRange


def test_a_minor_version_means_its_newest_patch() -> None:
    assert releases.get("4.3") is releases.get("4.3.1")
    assert releases.get("3.7").name == "3.7.2"
    assert releases.get("0.10.2").name == "0.10.2.2"


def test_kraft_is_meant_where_a_release_has_both_modes() -> None:
    assert releases.get("3.7").mode is Mode.KRAFT
    assert releases.get("3.7", Mode.ZOOKEEPER).mode is Mode.ZOOKEEPER
    assert releases.get("2.3.1").mode is Mode.ZOOKEEPER


def test_api_versions_are_those_of_the_broker_listener() -> None:
    assert releases.get("3.7").api_versions[0] == VersionRange(0, 10)
    assert releases.get("4.3").api_versions[1] == VersionRange(4, 18)
    assert 52 not in releases.get("4.3").api_versions
    assert 52 in releases.get("4.3").listeners["controller"].api_versions


def test_apis_come_in_the_order_sent() -> None:
    assert list(releases.get("3.0", Mode.KRAFT).api_versions)[-1] == 58
    assert list(releases.get("4.3").api_versions) == sorted(releases.get("4.3").api_versions)


def test_features_depend_on_the_version_of_the_response() -> None:
    features = releases.get("4.3.1").listeners["broker"].features
    assert "group.version" not in features[3].supported
    assert features[4].supported["group.version"] == VersionRange(0, 1)
    assert releases.get("4.3.1").finalized_features["metadata.version"] == VersionRange(30, 30)
    assert features[4].finalized_epoch_sent
    assert not releases.get("0.9.0.1").supported_features
    assert not releases.get("0.9.0.1").observed


def test_every_release_has_a_broker_table_and_the_names_ascend() -> None:
    found = [releases.get(name) for name in releases.names()]
    assert [release.version for release in found] == sorted(release.version for release in found)
    assert all(3 in release.api_versions for release in found)
    assert len(found) == len(releases.names()) == 34


def test_an_unknown_release_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownRelease, match=r"no broker release '4.3.7' is known; did you mean 4.3.\d\?"):
        releases.get("4.3.7")
    with pytest.raises(UnknownRelease, match="no broker release '4' is known"):
        releases.get("4")
    with pytest.raises(UnknownRelease, match=r"4\.3\.1 in zk mode"):
        releases.get("4.3.1", Mode.ZOOKEEPER)
    error = UnknownRelease("x", ["1.0.2"])
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_every_minor_release_from_0_8_0_to_4_3_1_is_there() -> None:
    minors = [
        *(f"2.{minor}" for minor in range(9)),
        *(f"3.{minor}" for minor in range(10)),
        *(f"4.{m}" for m in range(4)),
    ]
    assert [
        minor
        for minor in ("0.9.0", "0.10.0", "0.10.1", "0.10.2", "0.11.0", "1.0", "1.1", *minors)
        if not releases.get(minor)
    ] == []
    assert releases.names()[:3] == ["0.8.0", "0.8.1", "0.8.2.2"]
    assert releases.names()[-2:] == ["4.3.0", "4.3.1"]


def test_zookeeper_ends_with_3_9_and_kraft_begins_with_2_8() -> None:
    modes = {name: [release.mode for release in releases.modes(name)] for name in releases.names()}
    assert next(name for name, found in modes.items() if Mode.KRAFT in found) == "2.8.2"
    assert [name for name, found in modes.items() if Mode.ZOOKEEPER in found][-1] == "3.9.2"
    assert releases.modes("3.7") == (releases.get("3.7", Mode.ZOOKEEPER), releases.get("3.7", Mode.KRAFT))


def test_features_came_with_api_versions_v3_and_those_from_level_0_with_v4() -> None:
    for name in releases.names():
        for release in releases.modes(name):
            for table in release.listeners.values():
                newest = table.api_versions[18].highest if 18 in table.api_versions else 0
                assert list(table.features) == [version for version in (3, 4) if version <= newest]
                for version, features in table.features.items():
                    assert version == 4 or 0 not in {levels.lowest for levels in features.supported.values()}


def test_zookeeper_brokers_send_an_epoch_of_finalized_features_from_2_7_on() -> None:
    sent = {name: releases.get(name, Mode.ZOOKEEPER).listeners["broker"].features for name in ("2.6", "2.7", "3.9")}
    assert [features[3].finalized_epoch_sent for features in sent.values()] == [False, True, True]
    kraft = {name: releases.get(name, Mode.KRAFT).listeners["broker"].features for name in ("3.2", "3.3")}
    assert [features[3].finalized_epoch_sent for features in kraft.values()] == [False, True]


@pytest.mark.parametrize(("name", "nearest"), [("3.7.1", "3.7.2"), ("5.0", "4.3.1"), ("4", "4.3.1"), ("v3.7", "3.7.2")])
def test_the_nearest_release_is_one_with_the_same_numbers_or_the_one_below(name: str, nearest: str) -> None:
    with pytest.raises(UnknownRelease) as refusal:
        releases.get(name)
    expected = f"no broker release '{name}' is known; did you mean {nearest}? (known: 34 from 0.8.0 to 4.3.1)"
    assert str(refusal.value) == expected
