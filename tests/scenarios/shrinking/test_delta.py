from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from broker_scenarios.shrinking.delta import Reducer

DOCUMENTS = st.dictionaries(
    st.sampled_from("abcd"),
    st.recursive(
        st.integers(0, 300) | st.text("xyz", max_size=2),
        lambda children: (
            st.lists(children, max_size=4) | st.dictionaries(st.sampled_from("abcd"), children, max_size=4)
        ),
        max_leaves=12,
    ),
    max_size=4,
)


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for child in value.values() for leaf in leaves(child)]
    return [leaf for child in value for leaf in leaves(child)] if isinstance(value, list) else [value]


@given(DOCUMENTS, st.data())
def test_what_is_left_has_the_property_and_only_what_the_property_needs(
    document: dict[str, Any], data: st.DataObject
) -> None:
    texts = sorted({leaf for leaf in leaves(document) if isinstance(leaf, str)})
    needed = set(data.draw(st.lists(st.sampled_from(texts), max_size=3))) if texts else set()
    smallest = Reducer(lambda smaller: needed <= {*leaves(smaller)}, trials_max=10_000).reduce(document)
    assert sorted(leaves(smallest), key=str) == sorted(needed)


@given(st.integers(2, 100_000), st.data())
def test_a_count_becomes_the_least_one_that_has_the_property(count: int, data: st.DataObject) -> None:
    least = data.draw(st.integers(0, count))
    reducer = Reducer(lambda smaller: smaller.get("records", -1) >= least, trials_max=1_000, counts=("records",))
    assert reducer.reduce({"records": count}) == {"records": least}


def test_numbers_that_are_no_counts_and_kept_keys_stay() -> None:
    document = {"seed": 7, "config": {"linger.ms": 50}, "records": 8, "always": [True, {"nth": [3, 9]}]}
    reducer = Reducer(lambda smaller: "config" in smaller, trials_max=100, kept=("seed",), counts=("records", "nth"))
    assert reducer.reduce(document) == {"seed": 7, "config": {}}
    reducer = Reducer(
        lambda smaller: bool(smaller.get("config")), trials_max=100, kept=("seed", "records", "always"), counts=("nth",)
    )
    assert reducer.reduce(document) == {**document, "always": [True, {"nth": [0, 0]}]}


def test_a_search_ends_with_its_trials() -> None:
    tried: list[int] = []

    def holds(document: dict[str, Any]) -> bool:
        tried.append(len(document))
        return True

    document = {str(key): key for key in range(50)}
    assert len(Reducer(holds, trials_max=1, kept=("0",)).reduce(document)) == 1
    assert tried == [1]
    assert Reducer(holds, trials_max=0).reduce(document) == document
