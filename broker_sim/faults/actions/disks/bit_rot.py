"""The action `bit_rot`: a stored bit that flips."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from broker_sim.faults.forms import Whole
from broker_sim.faults.log_files import PLACE, SOMEWHERE, FileAction
from broker_sim.faults.rule import Range

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import Drawable

_ANY_BIT: Final = Range(0, 7, whole=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class BitRot(FileAction):
    """Flip one stored bit of a file of `broker`. It stays flipped.

    A leader sends the records as they are stored: consumers and followers find the wrong checksum of a `log`. A broker
    that starts without an orderly stop truncates the log there, if the place is behind the recovery point, and makes
    an unreadable snapshot or index anew.
    """

    form: ClassVar = FileAction.form_with(
        place=PLACE, bit=Whole("the bit of the byte, by default drawn", 0, at_least=0, at_most=7)
    )
    place: Drawable = SOMEWHERE
    bit: Drawable = _ANY_BIT

    def fire(self, firing: Firing) -> None:
        """Flip it now. Raises NoEffect where there is no file with content."""
        files, covers = self.files(firing)
        files.flip_bit(covers, firing.number("place", self.place), firing.whole("bit", self.bit))
