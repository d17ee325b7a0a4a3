"""Opens the input that a user names: a file, or `-` for stdin. Errors contain the name."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from protocol_specs.inspection.errors import InputError
from protocol_specs.spelling import close_names

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

STDIN: Final = "-"


def open_source(name: str, *, or_hex: bool = False) -> AbstractContextManager[IO[bytes]]:
    """The bytes of a named source. Raises InputError if it cannot be read, also for malformed hex as name."""
    if name == STDIN:
        return nullcontext(sys.stdin.buffer)
    if not name:
        raise InputError("''", "", "no name of a file")
    path = Path(name)
    try:
        if path.is_dir():
            raise InputError(name, "", "is a directory: name a file in it")
        return path.open("rb")
    except FileNotFoundError:
        raise InputError(name, "", f"no such file{_nearest(path) or (_no_hex(name) if or_hex else '')}") from None
    except (OSError, ValueError) as error:
        raise InputError(
            ascii(name)[1:-1], "", f"cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from None


def shown_name(name: str) -> str:
    """The name of a source in errors."""
    return "<stdin>" if name == STDIN else name


def _no_hex(name: str) -> str:
    """The mistake in a name that looks like hex; empty for other names."""
    from protocol_specs.inspection.hex_text import bytes_of_hex

    if set(name) & set("./\\_-"):
        return ""
    try:
        bytes_of_hex(name, "")
    except InputError as error:
        return f", and no hex: {error.reason}"
    return ""


def _nearest(path: Path) -> str:
    try:
        names = sorted(sibling.name for sibling in path.parent.iterdir())
    except OSError:
        return ""
    near = close_names(path.name, names)
    return f": did you mean {path.with_name(near[0])}?" if near else ""
