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


def test_features_depend_on_the_version_of_the_answer() -> None:
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
