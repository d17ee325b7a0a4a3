"""Fetch sessions (KIP-227), as raw probes see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.messages.fetch import ForgottenTopic
from tests.differential.case import case
from tests.differential.probe import attempts
from tests.differential.requests import batch, fetch, fill, metadata, wanted

if TYPE_CHECKING:
    from protocol_specs.messages.fetch import FetchPartition
    from tests.differential.probe import Probe

NO_SUCH_ID = b"no such topic id"


def open_session(probe: Probe, topic: str, *partitions: FetchPartition, version: int = 12, **fields: Any) -> int:
    """Open a session and return its id."""
    response = probe.exchange(fetch(topic, *partitions, session_epoch=0, **fields), version, note="open")
    assert isinstance(response.session_id, int)
    assert response.session_id > 0
    return response.session_id


@case()
def every_version(probe: Probe) -> None:
    topic = probe.topic()
    topic_id = probe.topic_id(topic)
    fill(probe, topic, batch(b"a"))
    top = 17 if probe.release == "3.7.2" else 19
    for version in range(7, top):
        session = open_session(probe, topic, wanted(), version=version, topic_id=topic_id)
        probe.exchange(fetch(None, session_id=session, session_epoch=1), version, note="next")
        probe.exchange(fetch(None, session_id=session, session_epoch=-1), version, note="close")


@case()
def incremental(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    fill(probe, topic, batch(b"a"))
    session = open_session(probe, topic, wanted(), wanted(partition=1))
    probe.exchange(fetch(None, session_id=session, session_epoch=1), 12, note="the same offset again")
    probe.exchange(fetch(topic, wanted(1), session_id=session, session_epoch=2), 12, note="moved on")
    probe.exchange(fetch(None, session_id=session, session_epoch=3), 12, note="nothing new")
    fill(probe, topic, batch(b"b"), partition=1)
    probe.exchange(fetch(None, session_id=session, session_epoch=4), 12, note="news in partition 1")
    probe.exchange(fetch(topic, wanted(1, partition=1), session_id=session, session_epoch=5), 12, note="moved on")
    fill(probe, topic, batch(b"c"))
    probe.exchange(fetch(None, session_id=session, session_epoch=6), 12, note="news in partition 0")


@case()
def a_high_watermark_is_news(probe: Probe) -> None:
    topic = probe.topic()
    session = open_session(probe, topic, wanted(5))
    probe.exchange(fetch(None, session_id=session, session_epoch=1), 12, note="still past the end")
    probe.exchange(fetch(topic, wanted(0), session_id=session, session_epoch=2), 12, note="right offset")
    probe.exchange(fetch(None, session_id=session, session_epoch=3), 12, note="nothing new")


@case()
def partitions_are_added_and_forgotten(probe: Probe) -> None:
    topic = probe.topic(partitions=3)
    for partition in range(3):
        fill(probe, topic, batch(b"%d" % partition), partition=partition)
    session = open_session(probe, topic, wanted())
    probe.exchange(fetch(topic, wanted(partition=1), session_id=session, session_epoch=1), 12, note="1 is added")
    forget = [ForgottenTopic(topic=topic, partitions=[0])]
    probe.exchange(fetch(None, session_id=session, session_epoch=2, forgotten=forget), 12, note="0 is forgotten")
    probe.exchange(fetch(None, session_id=session, session_epoch=3, forgotten=forget), 12, note="0 is forgotten again")
    forget = [ForgottenTopic(topic=topic, partitions=[1, 9])]
    probe.exchange(
        fetch(topic, wanted(partition=2), session_id=session, session_epoch=4, forgotten=forget), 12, note="1 for 2"
    )
    forget = [ForgottenTopic(topic=topic, partitions=[2])]
    probe.exchange(fetch(None, session_id=session, session_epoch=5, forgotten=forget), 12, note="nothing is left")
    probe.exchange(fetch(None, session_id=session, session_epoch=6), 12, note="after that")


@case()
def a_partition_added_and_forgotten_at_once(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    fill(probe, topic, batch(b"a"))
    session = open_session(probe, topic, wanted(), wanted(partition=1))
    forget = [ForgottenTopic(topic=topic, partitions=[0])]
    probe.exchange(fetch(topic, wanted(), session_id=session, session_epoch=1, forgotten=forget), 12)
    probe.exchange(fetch(None, session_id=session, session_epoch=2), 12)


@case()
def wrong_epochs(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, batch(b"a"))
    session = open_session(probe, topic, wanted())
    for epoch in (2, 5, 2_147_483_647, -2):
        probe.exchange(fetch(None, session_id=session, session_epoch=epoch), 12, note=str(epoch))
    probe.exchange(fetch(None, session_id=session, session_epoch=1), 12, note="the right one")
    probe.exchange(fetch(None, session_id=session, session_epoch=1), 12, note="again")


@case()
def wrong_ids(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, batch(b"a"))
    for session, epoch in ((0, 1), (0, 5), (0, -2), (123, 1), (123, 5), (-1, 1), (123, -2)):
        for version in (7, 12):
            probe.exchange(
                fetch(topic, wanted(), session_id=session, session_epoch=epoch), version, note=f"{session} {epoch}"
            )


@case()
def unknown_ids_with_epochs_that_begin_or_end(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, batch(b"a"))
    probe.exchange(fetch(topic, wanted(), session_id=123, session_epoch=0), 12, note="0")
    probe.exchange(fetch(topic, wanted(), session_id=123, session_epoch=-1), 12, note="-1")


@case()
def closing(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, batch(b"a"))
    session = open_session(probe, topic, wanted())
    probe.exchange(fetch(topic, wanted(), session_id=session, session_epoch=-1), 12, note="close")
    probe.exchange(fetch(None, session_id=session, session_epoch=1), 12, note="after the end")


@case()
def a_session_opened_over_another(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, batch(b"a"))
    session = open_session(probe, topic, wanted())
    response = probe.exchange(
        fetch(topic, wanted(), session_id=session, session_epoch=0), 12, note="epoch 0 with the id"
    )
    probe.write(another=response.session_id != session)
    probe.exchange(fetch(None, session_id=session, session_epoch=1), 12, note="the old one")
    probe.exchange(fetch(None, session_id=response.session_id, session_epoch=1), 12, note="the new one")


@case()
def a_session_of_nothing(probe: Probe) -> None:
    for version in (7, 12):
        probe.exchange(fetch(None, session_id=0, session_epoch=0), version)


@case()
def errors_inside_a_session(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, batch(b"a"))
    session = open_session(probe, topic, wanted(), wanted(partition=7), wanted(partition=-1))
    probe.exchange(fetch(None, session_id=session, session_epoch=1), 12, note="errors come again")
    probe.exchange(
        fetch(f"{probe.name}-none", wanted(), session_id=session, session_epoch=2), 12, note="an unknown topic"
    )
    probe.exchange(fetch(None, session_id=session, session_epoch=3), 12)


@case()
def names_and_ids_do_not_mix(probe: Probe) -> None:
    topic = probe.topic()
    topic_id = probe.topic_id(topic)
    fill(probe, topic, batch(b"a"))
    session = open_session(probe, topic, wanted())
    probe.exchange(fetch(None, session_id=session, session_epoch=1), 13, note="ids in a session of names")
    probe.exchange(fetch(topic, wanted(), session_id=session, session_epoch=1, topic_id=topic_id), 13)
    probe.exchange(fetch(None, session_id=session, session_epoch=1), 12)
    session = open_session(probe, topic, wanted(), version=13, topic_id=topic_id)
    probe.exchange(fetch(None, session_id=session, session_epoch=1), 12, note="names in a session of ids")
    probe.exchange(fetch(None, session_id=session, session_epoch=1), 13)


@case()
def unknown_ids_inside_a_session(probe: Probe) -> None:
    topic = probe.topic()
    topic_id = probe.topic_id(topic)
    fill(probe, topic, batch(b"a"))
    session = open_session(probe, "", wanted(), version=13, topic_id=NO_SUCH_ID)
    probe.exchange(fetch(None, session_id=session, session_epoch=1), 13)
    probe.exchange(fetch("", wanted(), session_id=session, session_epoch=2, topic_id=topic_id), 13)
    probe.exchange(fetch(None, session_id=session, session_epoch=3), 13)


@case()
def the_same_partition_twice(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, batch(b"a"), batch(b"b"))
    session = open_session(probe, topic, wanted(0), wanted(1))
    probe.exchange(fetch(None, session_id=session, session_epoch=1), 12)
    probe.exchange(fetch(topic, wanted(1), wanted(0), session_id=session, session_epoch=2), 12)


@case()
def limits_rotate_partitions(probe: Probe) -> None:
    topic = probe.topic(partitions=3)
    one = batch(b"x" * 100)
    for partition in range(3):
        fill(probe, topic, one, one, partition=partition)
    parts = [wanted(partition=partition) for partition in range(3)]
    session = open_session(probe, topic, *parts, max_bytes=1)
    for epoch in range(1, 6):
        probe.exchange(fetch(None, session_id=session, session_epoch=epoch, max_bytes=1), 12)


@case()
def another_connection_may_go_on(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, batch(b"a"))
    session = open_session(probe, topic, wanted())
    probe.exchange(fetch(None, session_id=session, session_epoch=1), 12, on=probe.connect())


@case()
def a_topic_that_goes_away(probe: Probe) -> None:
    from protocol_specs.messages.delete_topics import DeleteTopicsRequest

    topic = probe.topic()
    fill(probe, topic, batch(b"a"))
    session = open_session(probe, topic, wanted())
    probe.quiet(DeleteTopicsRequest(topic_names=[topic], timeout_ms=5_000), 5)
    for _ in attempts("a deleted topic"):
        response: Any = probe.quiet(metadata(topic), 12)
        unknown: Any = probe.quiet(fetch(topic, wanted()), 12)
        if response.topics[0].error_code and unknown.responses[0].partitions[0].error_code:
            break
    probe.exchange(fetch(None, session_id=session, session_epoch=1), 12)
    probe.exchange(fetch(None, session_id=session, session_epoch=2), 12)


@case()
def waiting_inside_a_session(probe: Probe) -> None:
    topic = probe.topic()
    session = open_session(probe, topic, wanted(), max_wait_ms=100, min_bytes=1)
    request = fetch(None, session_id=session, session_epoch=1, max_wait_ms=100, min_bytes=1)
    probe.exchange(request, 12, note="nothing comes")
    fill(probe, topic, batch(b"a"))
    request = fetch(None, session_id=session, session_epoch=2, max_wait_ms=5_000, min_bytes=1)
    probe.exchange(request, 12, note="something is there")
