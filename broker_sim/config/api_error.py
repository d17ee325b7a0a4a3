"""The error of one resource in a request. Mirrors org.apache.kafka.common.requests.ApiError and ApiException."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from protocol_specs.error_codes import ErrorCode

__all__ = ["ApiError", "Refused"]


class ApiError(NamedTuple):
    """An error code and its text. Mirrors org.apache.kafka.common.requests.ApiError."""

    code: ErrorCode
    message: str | None = None


class Refused(Exception):
    """A handler rejects one resource; `error` goes into its result."""

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        super().__init__(message)
        self.error = ApiError(code, message)
