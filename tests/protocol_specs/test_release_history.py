from __future__ import annotations

import itertools

from protocol_specs import registry, release_history, releases
from protocol_specs.api_key import ApiKey
from protocol_specs.version_range import VersionRange


def test_there_is_a_row_for_every_release_and_it_marks_the_changes() -> None:
    rows = {row.release: row for row in release_history.rows(0)}
    assert list(rows) == releases.names()
    assert rows["3.7.2"].versions == {"zookeeper": VersionRange(0, 10), "broker": VersionRange(0, 10)}
    assert rows["3.7.2"].changed == ("zookeeper", "broker")
    assert rows["3.9.2"].changed == ()
    assert rows["4.0.0"].changed == ("zookeeper", "broker")
    assert rows["4.0.0"].listeners == ("broker", "controller")


def test_spans_join_releases_that_list_the_same() -> None:
    spans = release_history.spans(0)
    assert spans[0] == ("0.8.0", "0.8.2.2", {"zookeeper": VersionRange(0, 0)})
    assert spans[-1] == ("4.1.1", "4.3.1", {"broker": VersionRange(0, 13)})
    for key in ApiKey:
        found = release_history.spans(key)
        assert all(one[2] != other[2] for one, other in itertools.pairwise(found))


def test_a_version_has_a_first_and_a_last_release() -> None:
    assert release_history.first_release(0, 9) == "2.8.2"
    assert release_history.last_release(1, 3) == "3.9.2"
    assert release_history.first_release(22, 6) is None
    assert release_history.first_release(71, 0) is release_history.last_release(71, 0) is None


def test_only_declared_versions_are_listed_by_any_release() -> None:
    for name in releases.names():
        for release in releases.modes(name):
            for table in release.listeners.values():
                for key, versions in table.api_versions.items():
                    declared = registry.request_type(key)
                    assert versions.intersection(declared.VERSIONS) == versions
                    assert not versions.intersection(declared.UNSTABLE)
