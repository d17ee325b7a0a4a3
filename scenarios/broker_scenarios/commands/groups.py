"""`broker-sim groups`: list, describe, delete groups of a running cluster, and reset their offsets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from broker_client.admin import Admin, ConsumerGroupDescription

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
        groups = [_description(admin, each) for each in admin.describe_consumer_groups(options.groups).values()]
    print_lines(map(json.dumps, groups) if options.json else (line for each in groups for line in _group_lines(each)))
    return 0


def _description(admin: Admin, group: ConsumerGroupDescription) -> dict[str, Any]:
    from broker_scenarios.commands.kafka_clients import ends_of

    committed = admin.list_group_offsets([group.group_id])[group.group_id]
    owners = {key: member.client_id for member in group.members for key in member.assignment}
    keys = sorted({*committed, *owners})
    ends = ends_of(admin, keys) if keys else {}
    offsets = {key: None if (each := committed.get(key)) is None else each.offset for key in keys}
    return {
        "group": group.group_id,
        "type": group.type.value,
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
                "client_id": owners.get(key),
            }
            for key, offset in offsets.items()
        ],
    }


def _group_lines(group: dict[str, Any]) -> Iterator[str]:
    from broker_scenarios.commands.text_columns import columns
    from broker_scenarios.text_forms import plural

    members = plural(len(group["members"]), "member")
    yield f"{group['group']}: {group['type']}, {group['state']}, coordinator {group['coordinator']}, {members}"
    heads = ("topic", "partition", "committed", "end", "lag", "client_id")
    rows = [tuple("none" if each[head] is None else str(each[head]) for head in heads) for each in group["partitions"]]
    yield from columns([(*heads[:-1], "client"), *rows], indent="  ")


def _delete(options: argparse.Namespace) -> int:
    from broker_scenarios.commands.kafka_clients import new_admin
    from broker_scenarios.commands.result_lines import print_lines

    with new_admin(options) as admin:
        admin.delete_groups(options.groups)
    print_lines(f"deleted {name}" for name in options.groups)
    return 0


def _reset(options: argparse.Namespace) -> int:
    from broker_client.consumer_groups import OffsetAndMetadata
    from broker_scenarios.commands.kafka_clients import new_admin, partitions_of
    from broker_scenarios.commands.result_lines import print_lines
    from broker_scenarios.commands.text_columns import columns

    with new_admin(options) as admin:
        partitions = partitions_of(admin, options.topic, options.partition)
        offsets = options.offset.resolve(admin, partitions, "read_uncommitted")
        if not options.dry_run:
            committed = {key: OffsetAndMetadata(offset=offset) for key, offset in offsets.items()}
            admin.alter_group_offsets(options.group, committed)
    rows = [(key.topic, str(key.partition), str(offset)) for key, offset in offsets.items()]
    print_lines(columns([("topic", "partition", "offset"), *rows]))
    return 0
