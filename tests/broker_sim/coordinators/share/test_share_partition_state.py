from __future__ import annotations

from broker_sim.coordinators.share.share_partition_state import SharePartitionState
from broker_sim.coordinators.share.state_batches import StateBatch
from protocol_specs.schemas.coordinator import share_update
from protocol_specs.schemas.coordinator.share_snapshot import ShareSnapshotValue

STATE = SharePartitionState(
    snapshot_epoch=3,
    state_epoch=2,
    leader_epoch=1,
    start_offset=10,
    delivery_complete_count=0,
    state_batches=(StateBatch(10, 19, 1, 0),),
    create_timestamp=5,
    write_timestamp=6,
)


def update(**fields: int) -> share_update.ShareUpdateValue:
    value = {"snapshot_epoch": 3, "leader_epoch": -1, "start_offset": -1, "delivery_complete_count": 4} | fields
    return share_update.ShareUpdateValue(
        **value,
        state_batches=[share_update.StateBatch(first_offset=15, last_offset=19, delivery_state=2, delivery_count=1)],
    )


def test_an_update_keeps_what_it_does_not_have() -> None:
    updated = STATE.updated(update())
    assert (updated.start_offset, updated.leader_epoch, updated.delivery_complete_count) == (10, 1, 4)
    assert updated.state_batches == (StateBatch(10, 14, 1, 0), StateBatch(15, 19, 1, 2))
    assert (updated.state_epoch, updated.write_timestamp) == (2, 6)


def test_an_update_with_a_later_start_drops_the_offsets_below() -> None:
    updated = STATE.updated(update(start_offset=16, leader_epoch=2))
    assert (updated.start_offset, updated.leader_epoch) == (16, 2)
    assert updated.state_batches == (StateBatch(16, 19, 1, 2),)


def test_a_snapshot_record_has_the_whole_state() -> None:
    from broker_sim.coordinators.share.share_partition_key import SharePartitionKey

    record = STATE.snapshot_record(SharePartitionKey("g", bytes(16), 0))
    assert isinstance(record.value, ShareSnapshotValue)
    assert SharePartitionState.of_snapshot(record.value) == STATE
