import pytest

from broker_scenarios.histories.json_text import DuplicateKeyError, parse_json


def test_an_object_that_has_a_key_twice_is_refused() -> None:
    assert parse_json('{"a": {"b": 1}, "b": []}') == {"a": {"b": 1}, "b": []}
    with pytest.raises(DuplicateKeyError, match="'b' is there twice"):
        parse_json('{"a": {"c": 0, "b": 1, "b": 1}}')
    with pytest.raises(ValueError, match="Expecting value"):
        parse_json("")
