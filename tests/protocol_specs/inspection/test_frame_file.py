"""Frames one after the other: requests, their responses, and the options of the user."""

from __future__ import annotations

import io

import pytest

from protocol_specs.errors import UnknownApi
from protocol_specs.inspection.errors import InputError
from protocol_specs.inspection.frame_file import FrameFile
from protocol_specs.message import Kind
from tests.protocol_specs.inspection.captures import (
    metadata_request,
    metadata_response,
    refused_versions,
    versions_request,
)


def described(
    data: bytes, *, kind: Kind | None = None, api: str | None = None, version: int | None = None
) -> list[str]:
    frames = FrameFile("f", kind=kind, api=api, version=version).frames(io.BytesIO(data))
    return [
        f"{offset} {frame.api} v{frame.version} {frame.kind.value if frame.kind else None}"
        f"{f' to {request.number}' if request else ''}{' !' if frame.faults else ''}"
        for offset, frame, request in frames
    ]


def test_requests_and_responses_are_distinguished() -> None:
    data = metadata_request(1) + metadata_response(1) + versions_request(2, 4) + refused_versions(2)
    at = [
        0,
        len(metadata_request(1)),
        len(metadata_request(1) + metadata_response(1)),
        len(data) - len(refused_versions(2)),
    ]
    assert described(data) == [
        f"{at[0]} Metadata v9 request",
        f"{at[1]} Metadata v9 response to 1",
        f"{at[2]} ApiVersions v4 request",
        f"{at[3]} ApiVersions v0 response to 3",
    ]


def test_pipelined_requests_have_responses_by_correlation_id() -> None:
    frames = metadata_request(5) + metadata_request(6) + metadata_response(5) + metadata_response(6)
    assert [line.split(" ", 1)[1] for line in described(frames)] == [
        "Metadata v9 request",
        "Metadata v9 request",
        "Metadata v9 response to 1",
        "Metadata v9 response to 2",
    ]


def test_responses_alone_need_the_api_and_the_version() -> None:
    assert described(metadata_response(1), kind=Kind.RESPONSE, api="Metadata", version=9) == ["0 Metadata v9 response"]
    assert described(metadata_response(1) + metadata_request(1), api="metadata", version=9) == [
        "0 Metadata v9 response",
        f"{len(metadata_response(1))} Metadata v9 request",
    ]
    with pytest.raises(InputError, match="a response has neither API nor version in it: give --api and --version"):
        described(metadata_response(1), kind=Kind.RESPONSE)
    with pytest.raises(UnknownApi, match="did you mean Metadata"):
        described(metadata_response(1), kind=Kind.RESPONSE, api="Metadatum", version=9)


def test_a_frame_that_is_no_request_may_be_a_response() -> None:
    ((_, frame, _),) = FrameFile("f", kind=None, api=None, version=None).frames(io.BytesIO(metadata_response(1)))
    assert frame.notes == ["read as a request; if it is a response, name its API and version: --api and --version"]


def test_a_request_can_be_read_as_another_version() -> None:
    assert described(metadata_request(1), kind=Kind.REQUEST, api="Metadata", version=8) == ["0 Metadata v8 request !"]


def test_a_last_frame_that_is_not_whole_is_shown_as_far_as_it_goes() -> None:
    assert described(metadata_request(1) + metadata_request(2)[:-2])[1].endswith("Metadata v9 request !")
    assert described(metadata_request(1) + b"\0\0") == [
        "0 Metadata v9 request",
        f"{len(metadata_request(1))}  v0 request !",
    ]


def test_after_an_unbelievable_size_nothing_can_be_framed() -> None:
    assert described(metadata_request(1) + b"\xff\xff\xff\xff" + bytes(10_000)) == [
        "0 Metadata v9 request",
        f"{len(metadata_request(1))}  v0 None !",
    ]
