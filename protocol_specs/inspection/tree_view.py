"""A decoded frame as an annotated tree: offset, bytes, field, type and value, then faults with a caret.

Offsets count from the frame's first byte (its size); those with a `'` count in the decompressed bytes of the section
above them. Lines are made one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from protocol_specs.inspection.value_text import value_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from protocol_specs.codec.annotate import Span
    from protocol_specs.inspection.decoded_frame import DecodedFrame, Remark

BYTES_A_SPAN: Final = 8
"""The limit on shown bytes per span."""

BYTES_A_CARET_LINE: Final = 16

_FIELD_COLUMNS: Final = 40
_TYPE_COLUMNS: Final = 12


def tree_lines(frame: DecodedFrame) -> Iterator[str]:
    """The lines of the tree, then those of the notes, the faults and the remarks."""
    bytes_of = frame.bytes_within()
    outline = _Outline()
    for span in frame.spans:
        for depth, label in outline.headings(span.path):
            yield _line("", "", "  " * depth + label, "", "")
        depth, label = outline.place(span.path)
        yield _span_line(span, bytes_of, "  " * depth + (label or "..."))
    for note in frame.notes:
        yield f"  note: {note}"
    for word, remarks in (("broken", frame.faults), ("accepted, but wrong", frame.remarks)):
        for remark in remarks:
            yield from fault_lines(remark, bytes_of(remark.within), word)


def fault_lines(remark: Remark, data: bytes, word: str) -> Iterator[str]:
    """The fault, the bytes around it with a caret under the first wrong one, and the rule."""
    tick = "'" if remark.within else ""
    path = f"{remark.path}, " if remark.path else ""
    yield f"  {word}: {path}byte {remark.position}{tick}: {remark.reason}"
    start = remark.position // BYTES_A_CARET_LINE * BYTES_A_CARET_LINE
    if start == len(data) and start:
        # Bytes are missing at the end: the caret follows the last byte.
        start -= BYTES_A_CARET_LINE
    shown = data[start : start + BYTES_A_CARET_LINE].hex(" ")
    margin = f"{start}{tick}".rjust(8) + "  "
    yield f"{margin}{shown}"
    yield " " * (len(margin) + 3 * (remark.position - start)) + "^^"
    if remark.rule:
        yield f"{' ' * 10}the rule: {remark.rule}"


def _span_line(span: Span, bytes_of: Callable[[str], bytes], field: str) -> str:
    tick = "'" if span.within else ""
    stop = min(span.stop, span.start + BYTES_A_SPAN)
    shown = bytes_of(span.within)[span.start : stop].hex(" ")
    more = " .." if span.stop > stop else ""
    return _line(f"{span.start}{tick}", shown + more, field, span.type_name, value_text(span))


def _line(offset: str, shown: str, field: str, type_name: str, value: str) -> str:
    line = (
        f"{offset:>8}  {shown:<{3 * BYTES_A_SPAN + 2}}  {field:<{_FIELD_COLUMNS}} {type_name:<{_TYPE_COLUMNS}} {value}"
    )
    return line.rstrip()


class _Outline:
    """The structure of the tree: a heading for each struct without bytes of its own."""

    def __init__(self) -> None:
        self.open: list[str] = []

    def headings(self, path: str) -> Iterator[tuple[int, str]]:
        """The headings before the field, as (depth, label)."""
        self.close(path)
        for prefix in _prefixes(path):
            if not self.open or len(prefix) > len(self.open[-1]):
                yield len(self.open), self.label(prefix)
                self.open.append(prefix)

    def place(self, path: str) -> tuple[int, str]:
        """The depth and the label of the field itself, which is a heading for what follows inside it."""
        if self.open and self.open[-1] == path:
            self.open.pop()
        found = len(self.open), self.label(path)
        self.open.append(path)
        return found

    def close(self, path: str) -> None:
        while self.open and not _is_inside(path, self.open[-1]):
            self.open.pop()

    def label(self, path: str) -> str:
        return path[len(self.open[-1]) :].lstrip(".") if self.open else path


def _is_inside(path: str, outer: str) -> bool:
    return path.startswith(outer) and path[len(outer) : len(outer) + 1] in {"", ".", "["}


def _prefixes(path: str) -> Iterator[str]:
    """Of `a.b[0].c`: `a`, `a.b[0]`; the field itself is none of them, and neither is `a.b` alone."""
    position = path.find(".")
    while position >= 0:
        yield path[:position]
        position = path.find(".", position + 1)


def summary(frame: DecodedFrame) -> str:
    """A frame in a few words: its type, and that it has faults if so."""
    header: Any = frame.header
    parts = [f"{frame.api} v{frame.version} {frame.kind.value}" if frame.cls and frame.kind else _unknown(frame)]
    if header is not None:
        parts.append(f"correlation id {header.correlation_id}")
        if getattr(header, "client_id", None) is not None:
            parts.append(f"client id {header.client_id!a}")
    parts.append(f"{len(frame.data)} bytes")
    if frame.faults:
        parts.append("BROKEN")
    elif frame.remarks:
        parts.append(f"{len(frame.remarks)} remark{'s' if len(frame.remarks) > 1 else ''}")
    return ", ".join(parts)


def _unknown(frame: DecodedFrame) -> str:
    return f"{frame.kind.value} of an unknown API" if frame.kind else "frame of an unknown API"
