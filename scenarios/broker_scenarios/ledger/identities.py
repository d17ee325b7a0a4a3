"""The identity of each record of a ledger: which stored and consumed records are which send.

Records have no id of their own: two sends may have equal contents. A stored record at the offset that an
acknowledgement named is that send; the others are matched by contents in the order of sending. What is left over with
the contents of a send is a copy of it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from broker_scenarios.history import EventType
from sim_runtime.spelling import shortened

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from broker_scenarios.ledger.book import Contents, SentRecord
    from protocol_specs.records.record_reader import Record

__all__ = ["ContentNames", "Identities", "StoredPlace"]

StoredPlace = tuple[str, int, int]
"""Topic, partition and offset."""

_SHOWN_MAX: Final = 60


class ContentNames:
    """One short text per contents of a record, for findings and for the history."""

    def __init__(self) -> None:
        self._name_of: dict[tuple[bytes | None, bytes | None], str] = {}
        self._taken: set[str] = set()
        self._last: dict[str, int] = {}
        """The last number of each text: thousands of records may have equal contents."""

    def of_record(self, record: Record) -> str:
        """Return the name of a stored record."""
        return self.of((record.key, record.value))

    def of(self, contents: tuple[bytes | None, bytes | None]) -> str:
        """Return the name of a key and a value: `key:value`, or the value alone."""
        name = self._name_of.get(contents)
        if name is None:
            key, value = contents
            text = _shown(value) if key is None else f"{_shown(key)}:{_shown(value)}"
            name = self._name_of[contents] = self.unused(text)
        return name

    def unused(self, text: str) -> str:
        """Return the text, with a number if another record has it: `one`, `one#2`."""
        name, number = text, self._last.get(text, 1)
        while name in self._taken:
            number += 1
            name = f"{text}#{number}"
        self._last[text] = number
        self._taken.add(name)
        return name


def _shown(data: bytes | None) -> str:
    if data is None:
        return "null"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = ""
    if not text.isprintable() or (data and not text):
        text = f"0x{data.hex()}"
    return shortened(text)


class Identities:
    """The names of the sends of a book, and of what the logs and the consumers have.

    `stored` has the contents (by name) at each place of the logs, `truncated` those that replicas have cut off.
    """

    def __init__(
        self,
        sends: Sequence[SentRecord],
        names: ContentNames,
        stored: Mapping[StoredPlace, str],
        truncated: Iterable[tuple[StoredPlace, str]],
    ) -> None:
        self._names = names
        self._stored_contents = stored
        self._contents_of = {send: None if send.contents is None else names.of(send.contents) for send in sends}
        self._sends_with: dict[str, list[SentRecord]] = {}
        for send, contents in self._contents_of.items():
            if contents is not None:
                self._sends_with.setdefault(contents, []).append(send)
        self.name_of = {send: self._name_of(send) for send in sends}
        self._stored_at: dict[SentRecord, StoredPlace] = {}
        self._match_stored(sends)
        self._cut_at: dict[StoredPlace, dict[str, SentRecord]] = {}
        self._match_truncated(truncated)
        self.unsent: list[StoredPlace] = []
        """The places of stored records that are no send of the ledger."""
        self.stored = self._named_stored()
        """The name of the record at each place of the logs."""

    def key_of(self, send: SentRecord) -> str:
        """Return the partition of a send, `orders-0`: the one that a response or the logs name, else partition 0."""
        place = self._stored_at.get(send)
        if place is None:
            place = next((at for at, cut in self._cut_at.items() if send in cut.values()), None)
        return f"{send.topic}-{place[1] if place is not None else send.partition or 0}"

    def of_truncated(self, place: StoredPlace, contents: str) -> str:
        """Return the name of a record that a replica has cut off."""
        send = self._cut_at.get(place, {}).get(contents)
        return contents if send is None else self.name_of[send]

    def of_polled(self, place: StoredPlace, contents: Contents) -> str:
        """Return the name of a record that a consumer has received."""
        name = None if contents is None else self._names.of(contents)
        if place in self.stored and name in (None, self._stored_contents[place]):
            return self.stored[place]
        for text, send in self._cut_at.get(place, {}).items():
            if name in (None, text):
                return self.name_of[send]
        if name is None:
            return f"{place[0]}-{place[1]}@{place[2]}"
        sends = self._sends_with.get(name)
        if not sends:
            return name
        return self.name_of[next((send for send in sends if send.acked_place == place), sends[0])]

    def _name_of(self, send: SentRecord) -> str:
        contents = self._contents_of[send]
        if contents is None:
            return self._names.unused(f"record {send.order} of {send.producer}")
        # The first send has the name of the contents.
        return contents if self._sends_with[contents][0] is send else self._names.unused(contents)

    def _match_stored(self, sends: Sequence[SentRecord]) -> None:
        send_at: dict[StoredPlace, SentRecord] = {}
        for send in sends:
            place = send.acked_place
            if place is None or place not in self._stored_contents:
                continue
            if self._contents_of[send] in (None, self._stored_contents[place]):
                # If two were acknowledged at one offset, the first one was lost, and its offset assigned again.
                send_at[place] = send
        self._stored_at = {send: place for place, send in send_at.items()}
        free: dict[str | None, dict[tuple[str, int], deque[StoredPlace]]] = {None: {}}
        for place in sorted(self._stored_contents.keys() - send_at.keys()):
            contents = self._stored_contents[place]
            for name in (contents,) if contents in self._sends_with else (contents, None):
                free.setdefault(name, {}).setdefault(place[:2], deque()).append(place)
        # First those that may be anywhere, then those whose acknowledgement named another offset, then failed ones.
        for send in sorted((send for send in sends if send not in self._stored_at), key=_certainty):
            queues = free.get(self._contents_of[send], {})
            queue = next((each for each in queues.values() if each and _may_be_at(send, each[0])), None)
            if queue is not None:
                self._stored_at[send] = queue.popleft()

    def _match_truncated(self, truncated: Iterable[tuple[StoredPlace, str]]) -> None:
        for place, contents in truncated:
            sends = [send for send in self._sends_with.get(contents, ()) if _may_be_at(send, place)]
            acked = [send for send in sends if send.acked_place == place]
            lost = [send for send in sends if send not in self._stored_at]
            found = next(iter(acked or lost or sends), None)
            if found is not None:
                self._cut_at.setdefault(place, {})[contents] = found

    def _named_stored(self) -> dict[StoredPlace, str]:
        send_at = {place: send for send, place in self._stored_at.items()}
        stored: dict[StoredPlace, str] = {}
        last: dict[tuple[str, str, int], SentRecord] = {}
        """The last send of each contents in each partition."""
        unsent: set[str] = set()
        for place in sorted(self._stored_contents):
            contents = self._stored_contents[place]
            of_partition = contents, place[0], place[1]
            send = send_at.get(place)
            if send is None:
                # A copy of the send that is stored before it, else of the first one.
                sends = self._sends_with.get(contents, ())
                send = last.get(of_partition) or next((each for each in sends if _may_be_at(each, place)), None)
            else:
                last[of_partition] = send
            if send is None:
                self.unsent.append(place)
                again = contents in unsent or contents in self._sends_with
                stored[place] = self._names.unused(contents) if again else contents
                unsent.add(contents)
            else:
                stored[place] = self.name_of[send]
        return stored


def _may_be_at(send: SentRecord, place: StoredPlace) -> bool:
    return send.topic == place[0] and send.partition in (None, place[1])


def _certainty(send: SentRecord) -> int:
    if any(each.type is EventType.FAIL for each in send.completions):
        return 2
    return 1 if send.acked_place is not None else 0
