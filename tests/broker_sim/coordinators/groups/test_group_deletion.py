import pytest

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.group_deletion import GroupDeletion
from broker_sim.coordinators.groups.group_registry import GroupRegistry
from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry
from protocol_specs.error_codes import ErrorCode


class Group:
    def __init__(self, group_id, error_code=None):
        self.group_id = group_id
        self._error_code = error_code

    def check_delete(self):
        if self._error_code:
            raise CoordinatorError(self._error_code)

    def tombstones(self):
        return [f"group {self.group_id}"]


@pytest.fixture
def groups():
    groups = GroupRegistry(SnapshotRegistry())
    groups.add(Group("full", ErrorCode.NON_EMPTY_GROUP))
    groups.add(Group("old"))
    return groups


def test_offsets_are_deleted_before_the_group(groups):
    deletion = GroupDeletion(groups, lambda group_id: [f"offset of {group_id}"], old_coordinator=False)
    deleted = deletion.delete(["full", "old", "absent"])
    assert deleted.records == ["offset of old", "group old"]
    errors = [ErrorCode.NON_EMPTY_GROUP, 0, ErrorCode.GROUP_ID_NOT_FOUND]
    assert [result.error_code for result in deleted.response] == errors


def test_the_old_coordinator_removes_groups_at_once(groups):
    GroupDeletion(groups, lambda _: [], old_coordinator=True).delete(["full", "old"])
    assert [group.group_id for group in groups.all()] == ["full"]
