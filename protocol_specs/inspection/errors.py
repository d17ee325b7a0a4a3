"""What a user gave to be taken apart and cannot be: one line that says where, what, and what would be right."""

from __future__ import annotations

from protocol_specs.errors import ProtocolError


class InputError(ProtocolError):
    """A file, a line or an argument that cannot be used. `source` is the file's name or what stands for one."""

    def __init__(self, source: str, place: str, reason: str) -> None:
        super().__init__(source, place, reason)
        self.source = source
        self.place = place
        self.reason = reason

    def __str__(self) -> str:
        return f"{', '.join(part for part in (self.source, self.place) if part)}: {self.reason}"
