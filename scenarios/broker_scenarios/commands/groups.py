"""`broker-sim groups`: list, describe, delete groups of a running cluster, and reset their offsets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from broker_client.admin import Admin, ConsumerGroupDescription, ShareGroupDescription
    from broker_client.records import TopicPartition

__all__ = ["add"]


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    from broker_scenarios.commands.kafka_clients import add_command
    from broker_scenarios.commands.start_offsets import OFFSET_FORMS, start_offset
    from broker_sim.argument_types import whole

    parser = commands.add_parser(
        "groups",
        help="list, describe or delete groups of a running cluster, or reset their offsets",
        description="List, describe or delete groups of a running cluster, or reset their offsets.",
    )
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    listing = add_command(actions, "list", "list groups with their state", _list)
    describing = add_command(actions, "describe", "describe groups: members, committed offsets and lag", _describe)
    deleting = add_command(actions, "delete", "delete groups that have no members, with their offsets", _delete)
    for each in (describing, deleting):
        each.add_argument("groups", nargs="+", metavar="GROUP")
    for each in (listing, describing):
        each.add_argument("--json", action="store_true", help="one JSON object per group and line")
    resetting = add_command(actions, "reset", "commit other offsets for a group that has no members", _reset)
    resetting.add_argument("group", metavar="GROUP")
    resetting.add_argument("-t", "--topic", required=True)
    resetting.add_argument("-p", "--partition", type=whole, help="default: all")
    resetting.add_argument("-o", "--offset", type=start_offset, required=True, metavar="OFFSET", help=OFFSET_FORMS)
    resetting.add_argument("--dry-run", action="store_true", help="print the offsets without committing them")


def _list(options: argparse.Namespace) -> int:
    from broker_scenarios.commands.kafka_clients import new_admin
    from broker_scenarios.commands.result_lines import print_lines
    from broker_scenarios.commands.text_columns import columns

    with new_admin(options) as admin:
        groups = [
            {
                "group": each.group_id,
                "protocol": each.protocol,
                "type": None if each.type is None else each.type.value,
                "state": None if each.state is None else each.state.value,
            }
            for each in admin.list_groups().values()
        ]
    if options.json:
        print_lines(map(json.dumps, groups))
    else:
        heads = ("group", "protocol", "type", "state")
        print_lines(columns([heads, *(tuple(each[head] or "none" for head in heads) for each in groups)]))
    return 0


def _describe(options: argparse.Namespace) -> int:
    from broker_scenarios.commands.kafka_clients import new_admin
    from broker_scenarios.commands.result_lines import print_lines

    with new_admin(options) as admin:
        groups = [_description(admin, each) for each in _described(admin, options.groups)]
    print_lines(map(json.dumps, groups) if options.json else (line for each in groups for line in _group_lines(each)))
    return 0


def _described(admin: Admin, names: list[str]) -> Iterator[ConsumerGroupDescription | ShareGroupDescription]:
    """Describe groups in the given order; the request depends on the type of a group."""
    from broker_client.admin import GroupType

    share = [name for name, group in admin.list_groups().items() if group.type is GroupType.SHARE and name in names]
    others = [name for name in names if name not in share]
    found: dict[str, ConsumerGroupDescription | ShareGroupDescription] = {}
    if share:
        found |= admin.describe_share_groups(share)
    if others:
        found |= admin.describe_consumer_groups(others)
    yield from (found[name] for name in dict.fromkeys(names))


def _offsets(admin: Admin, group: ConsumerGroupDescription | ShareGroupDescription) -> dict[TopicPartition, int | None]:
    """Return the committed offsets, or the start offsets of a share group."""
    from broker_client.admin import ShareGroupDescription

    if isinstance(group, ShareGroupDescription):
        starts = admin.list_share_group_offsets([group.group_id])[group.group_id]
        return {key: None if each is None else each.start_offset for key, each in starts.items()}
    committed = admin.list_group_offsets([group.group_id])[group.group_id]
    return {key: None if each is None else each.offset for key, each in committed.items()}


def _description(admin: Admin, group: ConsumerGroupDescription | ShareGroupDescription) -> dict[str, Any]:
    from broker_client.admin import ConsumerGroupDescription
    from broker_scenarios.commands.kafka_clients import ends_of

    found = _offsets(admin, group)
    owners: dict[TopicPartition, list[str]] = {}
    for member in group.members:
        for key in member.assignment:
            owners.setdefault(key, []).append(member.client_id)
    keys = sorted({*found, *owners})
    ends = ends_of(admin, keys) if keys else {}
    offsets = {key: found.get(key) for key in keys}
    return {
        "group": group.group_id,
        "type": group.type.value if isinstance(group, ConsumerGroupDescription) else "Share",
        "state": group.state.value,
        "coordinator": None if group.coordinator is None else group.coordinator.id,
        "members": [
            {"member_id": each.member_id, "client_id": each.client_id, "host": each.host} for each in group.members
        ],
        "partitions": [
            {
                "topic": key.topic,
                "partition": key.partition,
                "committed": offset,
                "end": ends[key],
                "lag": None if offset is None else ends[key] - offset,
                "clients": owners.get(key, []),
            }
            for key, offset in offsets.items()
        ],
    }


def _group_lines(group: dict[str, Any]) -> Iterator[str]:
    from broker_scenarios.commands.text_columns import columns
    from sim_runtime.spelling import plural

    members = plural(len(group["members"]), "member")
    yield f"{group['group']}: {group['type']}, {group['state']}, coordinator {group['coordinator']}, {members}"
    heads = ("topic", "partition", "committed", "end", "lag", "clients")
    rows = [tuple(_cell(each[head]) for head in heads) for each in group["partitions"]]
    yield from columns([heads, *rows], indent="  ")


def _cell(value: object) -> str:
    if isinstance(value, list):
        return ",".join(value) or "none"
    return "none" if value is None else str(value)


def _delete(options: argparse.Namespace) -> int:
    from broker_scenarios.commands.kafka_clients import new_admin
    from broker_scenarios.commands.result_lines import print_lines

    with new_admin(options) as admin:
        admin.delete_groups(options.groups)
    print_lines(f"deleted {name}" for name in options.groups)
    return 0


def _reset(options: argparse.Namespace) -> int:
    from broker_client.admin import ItemsFailed
    from broker_client.consumer_groups import OffsetAndMetadata
    from broker_client.errors import IllegalState
    from broker_scenarios.commands.kafka_clients import new_admin, partitions_of
    from broker_scenarios.commands.result_lines import print_lines
    from broker_scenarios.commands.text_columns import columns
    from protocol_specs.error_codes import ErrorCode

    with new_admin(options) as admin:
        partitions = partitions_of(admin, options.topic, options.partition)
        offsets = options.offset.resolve(admin, partitions, "read_uncommitted")
        if not options.dry_run:
            committed = {key: OffsetAndMetadata(offset=offset) for key, offset in offsets.items()}
            try:
                admin.alter_group_offsets(options.group, committed)
            except ItemsFailed as error:
                if error.error_code is not ErrorCode.UNKNOWN_MEMBER_ID:
                    raise
                raise IllegalState(
                    f"group {options.group!r} has members: its offsets can be reset when they have left ({error})"
                ) from None
    rows = [(key.topic, str(key.partition), str(offset)) for key, offset in offsets.items()]
    print_lines(columns([("topic", "partition", "offset"), *rows]))
    return 0
