"""`broker-sim topics`: list, create, describe and delete topics of a running cluster."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from broker_sim.argument_types import positive

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from broker_client.admin import Admin, TopicDescription

__all__ = ["add"]


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    from broker_scenarios.commands.kafka_clients import add_command

    parser = commands.add_parser(
        "topics",
        help="list, create, describe or delete topics of a running cluster",
        description="List, create, describe or delete topics of a running cluster: broker-sim's, or a real Kafka.",
    )
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    listing = add_command(actions, "list", "list topics with their partitions and replicas", _list)
    listing.add_argument("--internal", action="store_true", help="internal topics too")
    describing = add_command(actions, "describe", "describe topics: configurations, leaders and offsets", _describe)
    describing.add_argument("topics", nargs="+", metavar="TOPIC")
    for each in (listing, describing):
        each.add_argument("--json", action="store_true", help="one JSON object per topic and line")
    creating = add_command(actions, "create", "create a topic", _create)
    creating.add_argument("topic", metavar="TOPIC")
    creating.add_argument("--partitions", type=positive, default=-1, metavar="N", help="default: the broker's")
    creating.add_argument("--replication-factor", type=positive, default=-1, metavar="N", help="default: the broker's")
    creating.add_argument(
        "-c", dest="topic_config", action="append", default=[], metavar="KEY=VALUE", help="a configuration of the topic"
    )
    deleting = add_command(actions, "delete", "delete topics", _delete)
    deleting.add_argument("topics", nargs="+", metavar="TOPIC")


def _list(options: argparse.Namespace) -> int:
    from broker_scenarios.commands.kafka_clients import new_admin
    from broker_scenarios.commands.result_lines import print_lines
    from broker_scenarios.commands.text_columns import columns

    with new_admin(options) as admin:
        names = list(admin.list_topics(list_internal=options.internal))
        topics = admin.describe_topics(names) if names else {}
    counts = {name: (len(topics[name].partitions), _replicas(topics[name])) for name in names}
    if options.json:
        print_lines(
            json.dumps({"topic": name, "partitions": partitions, "replication_factor": replicas})
            for name, (partitions, replicas) in counts.items()
        )
    else:
        rows = [
            ("topic", "partitions", "replicas"),
            *((name, str(one), str(two)) for name, (one, two) in counts.items()),
        ]
        print_lines(columns(rows))
    return 0


def _replicas(topic: TopicDescription) -> int:
    return max((len(each.replicas) for each in topic.partitions), default=0)


def _describe(options: argparse.Namespace) -> int:
    from broker_scenarios.commands.kafka_clients import new_admin
    from broker_scenarios.commands.result_lines import print_lines

    with new_admin(options) as admin:
        topics = [_description(admin, each) for each in admin.describe_topics(options.topics).values()]
    print_lines(map(json.dumps, topics) if options.json else (line for each in topics for line in _topic_lines(each)))
    return 0


def _description(admin: Admin, topic: TopicDescription) -> dict[str, object]:
    from broker_client.admin import OffsetSpec
    from broker_client.errors import UnsupportedVersion
    from broker_client.records import TopicPartition

    led = [TopicPartition(topic.name, each.partition) for each in topic.partitions if each.leader is not None]
    first = admin.list_offsets(dict.fromkeys(led, OffsetSpec.EARLIEST)) if led else {}
    last = admin.list_offsets(dict.fromkeys(led, OffsetSpec.LATEST)) if led else {}
    try:
        configs = admin.describe_topic_configs(topic.name)
    except UnsupportedVersion:  # brokers before 0.11
        configs = None
    return {
        "topic": topic.name,
        "topic_id": topic.topic_id,
        "internal": topic.internal,
        "configs": None
        if configs is None
        else {name: entry.value for name, entry in configs.items() if not entry.is_default},
        "partitions": [
            {
                "partition": each.partition,
                "leader": each.leader,
                "leader_epoch": each.leader_epoch,
                "replicas": each.replicas,
                "isr": each.isr,
                "first_offset": first[key].offset if key in first else None,
                "end_offset": last[key].offset if key in last else None,
            }
            for each in topic.partitions
            for key in [TopicPartition(topic.name, each.partition)]
        ],
    }


def _topic_lines(topic: dict[str, object]) -> Iterator[str]:
    from broker_scenarios.commands.text_columns import columns

    configs, partitions = topic["configs"], topic["partitions"]
    assert isinstance(configs, dict | None)
    assert isinstance(partitions, list)
    yield f"{topic['topic']}: topic id {topic['topic_id'] or 'none'}{', internal' if topic['internal'] else ''}"
    if configs is None:
        yield "  configurations: not described by brokers before 0.11"
    else:
        yield from (f"  {name}={value}" for name, value in configs.items())
    heads = {"partition": "partition", "leader": "leader", "leader_epoch": "leader epoch", "replicas": "replicas"}
    heads |= {"isr": "ISR", "first_offset": "first offset", "end_offset": "end offset"}
    yield from columns(
        [tuple(heads.values()), *(tuple(_cell(each[key]) for key in heads) for each in partitions)], indent="  "
    )


def _cell(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value)) or "none"
    return "none" if value is None else str(value)


def _create(options: argparse.Namespace) -> int:
    from broker_scenarios.commands.kafka_clients import new_admin
    from broker_scenarios.commands.result_lines import print_lines
    from broker_scenarios.errors import ScenarioError
    from sim_runtime.spelling import plural

    configs = {}
    for pair in options.topic_config:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise ScenarioError(f"-c {pair!r} is not KEY=VALUE, as in -c min.insync.replicas=2")
        configs[key] = value
    with new_admin(options) as admin:
        partitions = admin.create_topic(
            options.topic,
            partitions=options.partitions,
            replication_factor=options.replication_factor,
            configs=configs,
        )
    replicas = plural(len(partitions[0].replicas), "replica")
    print_lines([f"created {options.topic}: {plural(len(partitions), 'partition')}, {replicas}"])
    return 0


def _delete(options: argparse.Namespace) -> int:
    from broker_scenarios.commands.kafka_clients import new_admin
    from broker_scenarios.commands.result_lines import print_lines

    with new_admin(options) as admin:
        admin.delete_topics(options.topics)
    print_lines(f"deleted {name}" for name in options.topics)
    return 0
