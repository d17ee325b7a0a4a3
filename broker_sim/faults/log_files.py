"""The files of a broker's logs on a virtual disk, and the base of the actions on them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

from broker_sim.faults.action import Action, Need
from broker_sim.faults.forms import BROKER, Choice, Fields, Number, Text, Whole
from broker_sim.faults.rule import NoEffect, Range
from sim_runtime.file_faults import FileFault, place_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.forms import Form
    from broker_sim.faults.rule import BrokerRef, Drawable
    from sim_runtime.file_faults import WrongWrite
    from sim_runtime.virtual_disk import VirtualDisk

__all__ = ["PLACE", "SOMEWHERE", "FileAction", "LogFiles", "WrongWriteAction"]

KINDS: Final = ("log", "index", "timeindex", "txnindex", "snapshot")
SOMEWHERE: Final = Range(0, 1)
PLACE: Final = Number("the place, as a share of the bytes; by default drawn", 0.5, at_least=0, at_most=1)
_METADATA: Final = "__cluster_metadata"
_TARGET: Final[Mapping[str, Form]] = {
    "broker": BROKER,
    "topic": Text("a topic; without it the files of all topics", "orders"),
    "partition": Whole("a partition, by default all", 0, at_least=0, drawable=False),
    "file": Choice("the kind of files, by default `log`", KINDS),
}


class StorageOnDisk(Protocol):
    """The logs of one broker, in files."""

    def reload(self, path: str, position: int, /) -> None:
        """Read the batch at a position of a log's file again, if a log has it in memory."""


class LogFiles:
    """The files of one broker. `directories` are its log directories."""

    def __init__(self, disk: VirtualDisk, directories: Iterable[str], storage: StorageOnDisk) -> None:
        self._disk = disk
        self._directories = tuple(directories)
        self._storage = storage

    def covers(self, topic: str | None, partition: int | None, kind: str) -> Callable[[str], bool]:
        """Return whether a path is that of a file of a kind, in a log of these."""
        roots = "|".join(map(re.escape, self._directories))
        name = rf"(?!{_METADATA}-)[^/]+" if topic is None else re.escape(topic)
        number = "[0-9]+" if partition is None else str(partition)
        pattern = re.compile(rf"(?:{roots})/{name}-{number}/[0-9]{{20}}\.{kind}")
        return lambda path: pattern.fullmatch(path) is not None

    def fail(self, fault: FileFault) -> Callable[[], None]:
        """Begin a fault of files. Returns the function that ends it."""
        return self._disk.fail_files(fault)

    def flip_bit(self, covers: Callable[[str], bool], place: float, bit: int) -> str:
        """Flip a bit of the covered files, at a share of all their bytes. Returns the path of the file.

        A log that a running broker has in memory reads the bytes again, as if their page had left the page cache.

        Raises:
            NoEffect: the files have no bytes.
        """
        sizes = self._disk.files(covers)
        if not any(sizes.values()):
            raise NoEffect("there is no file with content")
        position = place_in(sum(sizes.values()), place)
        for path, size in sizes.items():
            if position < size:
                self._disk.flip_bit(path, position, bit)
                self._storage.reload(path, position)
                return path
            position -= size
        raise AssertionError("the place is within the bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAction(Action):
    """An action on the files of one kind of a broker: those of `topic` and `partition`, by default of all logs."""

    on_cluster: ClassVar = True
    needs: ClassVar = (Need.CLUSTER, Need.VIRTUAL_DISK)
    form: ClassVar = Fields(_TARGET, alone="broker", required=("broker",))
    broker: BrokerRef
    topic: str | None = None
    partition: int | None = None
    file: str = "log"

    def files(self, firing: Firing) -> tuple[LogFiles, Callable[[str], bool]]:
        """Return the files of the broker, and whether a path is that of one of the action."""
        files = firing.cluster.admin.log_files(firing.resolve(self.broker))
        return files, files.covers(self.topic, self.partition, self.file)

    def begin(self, firing: Firing, *, read_error: int | None = None, write: WrongWrite | None = None) -> None:
        """Begin a fault that ends with the rule; without an `until` one write is wrong, and reads fail to the end."""
        files, covers = self.files(firing)
        writes = None if firing.ends else 1
        end = files.fail(FileFault(covers=covers, read_error=read_error, write=write, writes_left=writes))
        firing.at_end(end)

    @staticmethod
    def form_with(**more: Form) -> Fields:
        """Return the form of an action that has more keys."""
        return Fields({**_TARGET, **more}, alone="broker", required=("broker",))


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongWriteAction(FileAction):
    """A wrong write at a place: a share of the bytes."""

    form: ClassVar = FileAction.form_with(place=PLACE)
    place: Drawable = SOMEWHERE
