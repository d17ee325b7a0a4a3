"""`broker-sim decode`: decode bytes of Kafka's wire protocol from hex, frames, captures or JSON lines.

Exit status 0 if all bytes are valid, 1 if a frame is broken, 2 if the input cannot be used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from protocol_specs.inspection.capture_session import CapturedFrame
    from protocol_specs.inspection.conversation import SentRequest
    from protocol_specs.inspection.decoded_frame import DecodedFrame
    from protocol_specs.inspection.input_form import Form, Input
    from protocol_specs.message import Kind, Message

EXIT_READ: Final = 0
EXIT_BROKEN: Final = 1

_HEX_ARGUMENT: Final = "HEX"


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare `decode`."""
    parser = commands.add_parser("decode", help="decode bytes of the wire protocol", description=__doc__)
    parser.add_argument("input", nargs="*", metavar="FILE|-|HEX", help="a file, - for stdin, or hex digits")
    parser.add_argument(
        "--jsonl",
        action="store_true",
        help='lines of {"api", "kind", "version", "hex"}; "json" is added to each',
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="one JSON object a frame instead of a tree")
    how.add_argument("--brief", action="store_true", help="one line a frame instead of a tree")
    parser.add_argument("--frame", metavar="N", help="show frame N alone")
    parser.add_argument("--format", default="auto", help="auto, capture, frames or message (auto)")
    parser.add_argument("--kind", help="request or response; of a message alone also header, data, metadata ...")
    parser.add_argument("--api", help="the API of responses, or the name of a message alone")
    parser.add_argument("--version", help="the version of --api")
    parser.add_argument("--port", help="of a capture: the port of the brokers (found out, when not given)")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    if options.jsonl:
        return _decode_lines(options)
    from broker_scenarios.commands.result_lines import print_lines
    from protocol_specs.inspection.byte_source import open_source, shown_name
    from protocol_specs.inspection.errors import InputError
    from protocol_specs.inspection.input_form import input_of_file, input_of_hex, is_file_name

    form, bare = _form(options), bool(options.api and options.kind and options.version)
    if not options.input:
        raise InputError("decode", "", "nothing to decode: name a file, - for stdin, or give hex digits")
    showing = _Showing(options)
    if is_file_name(options.input):
        (name,) = options.input
        with open_source(name, or_hex=True) as file:
            given = input_of_file(file, shown_name(name), form, bare_message=bare)
            print_lines(showing.lines(given, shown_name(name)))
    else:
        given = input_of_hex(" ".join(options.input), _HEX_ARGUMENT, form, bare_message=bare)
        print_lines(showing.lines(given, _HEX_ARGUMENT))
    return EXIT_BROKEN if showing.broken else EXIT_READ


class _Showing:
    """The parts of each frame that are shown, and whether a frame was broken."""

    def __init__(self, options: argparse.Namespace) -> None:
        from protocol_specs.inspection.json_lines import named_kind

        self.options = options
        self.kind: Kind | None = named_kind(options.kind) if options.kind else None
        self.version = _number(options.version, "--version", 32767)
        self.port = _number(options.port, "--port", 65535)
        self.frame_number = _number(options.frame, "--frame", 999_999_999)
        self.broken = False
        self.shown = False
        self.first_ns: int | None = None

    def lines(self, given: Input, source: str) -> Iterator[str]:
        from protocol_specs.inspection.input_form import Form

        if given.form is Form.CAPTURE:
            return self.of_capture(given, source)
        return self.of_message(given, source) if given.form is Form.MESSAGE else self.of_frames(given, source)

    def declaration(self, source: str, kind: Kind) -> tuple[type[Message], int]:
        from protocol_specs import registry
        from protocol_specs.errors import UnsupportedVersion
        from protocol_specs.inspection.errors import InputError

        if self.options.api is None or self.version is None:
            raise InputError(source, "", "a message alone does not name its API: give --api, --kind and --version")
        cls = registry.find(self.options.api, kind)
        if self.version not in cls.VERSIONS:
            raise UnsupportedVersion(cls.__name__, self.version, str(cls.VERSIONS))
        return cls, self.version

    def of_message(self, given: Input, source: str) -> Iterator[str]:
        from protocol_specs.inspection.decoded_frame import decode_message
        from protocol_specs.inspection.errors import InputError
        from protocol_specs.inspection.frame_cutter import FRAME_BYTES_MAX

        if self.kind is None:
            raise InputError(source, "", "a message alone does not name its API: give --api, --kind and --version")
        cls, version = self.declaration(source, self.kind)
        data = given.file.read(FRAME_BYTES_MAX + 1)
        if len(data) > FRAME_BYTES_MAX:
            raise InputError(source, "", f"longer than FRAME_BYTES_MAX={FRAME_BYTES_MAX}")
        yield from self.frame(decode_message(cls, version, data), None)

    def of_frames(self, given: Input, source: str) -> Iterator[str]:
        from protocol_specs.inspection.errors import InputError
        from protocol_specs.inspection.frame_file import FrameFile
        from protocol_specs.message import Kind

        if self.kind not in {None, Kind.REQUEST, Kind.RESPONSE}:
            raise InputError(source, "", f"--kind {self.options.kind} is of a message alone, and these are frames")
        if self.options.api is not None:
            self.declaration(source, self.kind or Kind.RESPONSE)
        frames = FrameFile(source, kind=self.kind, api=self.options.api, version=self.version)
        for number, (offset, frame, request) in enumerate(frames.frames(given.file), start=1):
            if self.frame_number in {None, number}:
                yield from self.frame(frame, request, number=number, offset=offset)

    def of_capture(self, given: Input, source: str) -> Iterator[str]:
        import sys

        from protocol_specs.inspection.capture_file import read_packets
        from protocol_specs.inspection.capture_session import CapturedFrame, CaptureSession
        from protocol_specs.message import Kind

        forced = None if self.options.api is None else self.declaration(source, Kind.RESPONSE)
        session = CaptureSession(source, port=self.port, forced=forced)
        for event in session.events(read_packets(given.file, source)):
            if isinstance(event, CapturedFrame):
                self.first_ns = event.time_ns if self.first_ns is None else self.first_ns
                if self.frame_number in {None, event.number} and self.kind in {None, event.frame.kind}:
                    yield from self.captured(event)
            elif self.frame_number is not None:
                continue
            elif self.options.json:
                sys.stderr.write(f"{event.text}\n")
            else:
                yield f"-- {event.text}"

    def frame(self, frame: DecodedFrame, request: SentRequest | None, **place: int) -> Iterator[str]:
        self.broken = self.broken or bool(frame.faults)
        if self.options.json:
            from protocol_specs.inspection.json_view import json_of_frame

            yield _compact(json_of_frame(frame, **place, **({"request_frame": request.number} if request else {})))
            return
        start = f"frame {place['number']} at byte {place['offset']}: " if place else ""
        pairing = f", to frame {request.number}" if request else ""
        yield from self.tree(frame, f"{start}{_summary(frame)}{pairing}")

    def captured(self, captured: CapturedFrame) -> Iterator[str]:
        frame, request, time_ns = captured.frame, captured.request, captured.time_ns
        self.broken = self.broken or bool(frame.faults)
        if self.options.json:
            from protocol_specs.inspection.json_view import json_of_captured

            yield _compact(json_of_captured(captured))
            return
        moment = ""
        if time_ns is not None:
            moment = f" {(time_ns - (self.first_ns or 0)) / 1e9:.6f} s"
        pairing = ""
        if request is not None:
            took = (
                ""
                if time_ns is None or request.time_ns is None
                else f" after {(time_ns - request.time_ns) / 1e6:.3f} ms"
            )
            pairing = f", to frame {request.number}{took}"
        ends = f"{captured.source} -> {captured.destination}"
        yield from self.tree(frame, f"frame {captured.number}{moment} {ends}: {_summary(frame)}{pairing}")

    def tree(self, frame: DecodedFrame, title: str) -> Iterator[str]:
        from protocol_specs.inspection.tree_view import fault_lines, tree_lines

        if not self.options.brief:
            if self.shown:
                yield ""
            self.shown = True
            yield title
            yield from tree_lines(frame)
            return
        yield title
        for remark in frame.faults:
            yield from fault_lines(remark, frame.data, "broken")


def _decode_lines(options: argparse.Namespace) -> int:
    from broker_scenarios.commands.result_lines import print_lines
    from protocol_specs.inspection.byte_source import open_source, shown_name
    from protocol_specs.inspection.errors import InputError
    from protocol_specs.inspection.json_lines import decode_lines

    if len(options.input) > 1:
        raise InputError(options.input[1], "", "one file of JSON lines at a time")
    name = options.input[0] if options.input else "-"
    with open_source(name) as file:
        print_lines(decode_lines(file, shown_name(name)))
    return EXIT_READ


def _form(options: argparse.Namespace) -> Form:
    from protocol_specs.inspection.errors import InputError
    from protocol_specs.inspection.input_form import Form

    try:
        return Form(options.format)
    except ValueError:
        forms = ", ".join(form.value for form in Form)
        raise InputError("--format", "", f"no format {options.format!a}: the formats are {forms}") from None


def _number(text: str | None, option: str, largest: int) -> int | None:
    from protocol_specs.inspection.errors import InputError

    if text is None:
        return None
    if not text.isdecimal() or len(text) > 9 or int(text) > largest:
        raise InputError(option, "", f"{text!a}: expected a whole number from 0 to {largest}")
    return int(text)


def _summary(frame: DecodedFrame) -> str:
    from protocol_specs.inspection.tree_view import summary

    return summary(frame)


def _compact(value: object) -> str:
    import json

    return json.dumps(value, separators=(",", ":"))
