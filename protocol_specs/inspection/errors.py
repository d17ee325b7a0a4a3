"""Errors about input that cannot be decoded: one line with the place, the problem and the expected form."""

from __future__ import annotations

from protocol_specs.errors import ProtocolError


class InputError(ProtocolError):
    """A file, a line or an argument that cannot be used. `source` is the name of the file or of the argument."""

    def __init__(self, source: str, place: str, reason: str) -> None:
        super().__init__(source, place, reason)
        self.source = source
        self.place = place
        self.reason = reason

    def __str__(self) -> str:
        return f"{', '.join(part for part in (self.source, self.place) if part)}: {self.reason}"
