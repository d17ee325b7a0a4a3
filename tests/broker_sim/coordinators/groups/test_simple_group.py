from __future__ import annotations

import pytest

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.simple_group import SimpleGroup
from protocol_specs.error_codes import ErrorCode


def test_only_clients_without_a_generation_commit() -> None:
    group = SimpleGroup("g")
    group.check_offset_commit(member_id="", group_instance_id=None, member_epoch=-1, transactional=False, api_version=8)
    with pytest.raises(CoordinatorError) as caught:
        group.check_offset_commit(
            member_id="m", group_instance_id=None, member_epoch=0, transactional=False, api_version=8
        )
    assert caught.value.error_code == ErrorCode.UNKNOWN_MEMBER_ID
