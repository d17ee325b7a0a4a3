import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from broker_scenarios.arrow.load_table import LOAD_SCHEMA
from broker_scenarios.arrow.record_id_columns import header_ids, sent_table, value_ids
from broker_scenarios.workloads.record_ids import ID_HEADER, record_id_of
from broker_scenarios.workloads.values import value_bytes

HEADERS = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))
ENTRIES = st.lists(
    st.fixed_dictionaries({"key": st.text(max_size=3), "value": st.none() | st.binary(max_size=3)}), max_size=3
)
IDS = st.integers(0, 2**62)


def load(ids, **own):
    columns = {
        "value_id": ids,
        "producer_id": [0] * len(ids),
        "topic": ["orders"] * len(ids),
        "key": [b"k"] * len(ids),
        "size_bytes": [20] * len(ids),
        "due_us": [0] * len(ids),
    }
    arrays = [pa.array(columns[field.name], field.type) for field in LOAD_SCHEMA]
    batch = pa.RecordBatch.from_arrays(arrays, schema=LOAD_SCHEMA)
    for name, column in own.items():
        batch = batch.append_column(name, column)
    return batch


@given(st.lists(st.tuples(IDS, st.none() | ENTRIES), max_size=5), st.sampled_from(["load", "", "run-é"]))
def test_a_users_record_keeps_its_headers_and_its_id_is_read_back(rows, run_id):
    ids = [each for each, _ in rows]
    given_headers = pa.array([headers for _, headers in rows], HEADERS)
    values = pa.array([b"same"] * len(rows), pa.binary())
    # A slice of a larger batch has the same rows.
    batch = load(
        [9, *ids],
        value=pa.array([b"x", *values.to_pylist()]),
        headers=pa.array([None, *given_headers.to_pylist()], HEADERS),
    )
    sent = sent_table(batch.slice(1), run_id)
    assert sent["value"].to_pylist() == values.to_pylist()
    headers = sent["headers"].to_pylist()
    assert [each[:-1] for each in headers] == [given or [] for _, given in rows]
    assert {each[-1]["key"] for each in headers} <= {ID_HEADER}
    assert header_ids(sent["headers"], run_id).tolist() == ids
    pairs = [[(entry["key"], entry["value"]) for entry in each] for each in headers]
    assert [record_id_of(b"same", each) for each in pairs] == ids
    assert header_ids(sent["headers"], f"{run_id}-other").tolist() == [-1] * len(ids)


def test_records_of_other_clients_have_no_id():
    headers = pa.array(
        [
            None,
            [],
            [{"key": "other", "value": bytes(12)}],
            [{"key": ID_HEADER, "value": None}],
            [{"key": ID_HEADER, "value": b"short"}],
            [{"key": ID_HEADER, "value": bytes(7) + b"\x05load"}, {"key": "later", "value": b""}],
            [{"key": ID_HEADER, "value": bytes(7) + b"\x05load"}],
        ],
        HEADERS,
    )
    assert header_ids(headers, "load").tolist() == [-1, -1, -1, -1, -1, -1, 5]


def test_a_generated_load_has_its_ids_in_its_values():
    sent = sent_table(load([3, 2**40]), "load")
    assert sent.column_names == ["key", "value"]
    assert sent["value"].to_pylist() == [value_bytes(3, 20), value_bytes(2**40, 20)]
    assert value_ids(pa.array([b"short", None, *sent["value"].to_pylist()], pa.binary())).tolist() == [-1, -1, 3, 2**40]


def test_the_other_columns_of_a_users_record_are_sent():
    own = {
        "value": pa.array([None], pa.binary()),
        "partition": pa.array([2], pa.int32()),
        "timestamp": pa.array([7], pa.int64()),
    }
    row = sent_table(load([1], **own), "load").to_pylist()[0]
    assert (row["key"], row["value"], row["partition"], row["timestamp"]) == (b"k", None, 2, 7)
