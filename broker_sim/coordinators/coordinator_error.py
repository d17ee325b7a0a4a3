"""The refusal of a coordinator's operation. Mirrors the ApiExceptions that a coordinator maps to responses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.errors import BrokerSimError

if TYPE_CHECKING:
    from protocol_specs.error_codes import ErrorCode

__all__ = ["CoordinatorError"]


class CoordinatorError(BrokerSimError):
    """An operation is refused with `error_code`; `message` is the text of responses that have one."""

    def __init__(self, error_code: ErrorCode, message: str | None = None) -> None:
        super().__init__(error_code, message)
        self.error_code = error_code
        self.message = message

    def __str__(self) -> str:
        return self.error_code.name if self.message is None else f"{self.error_code.name}: {self.message}"
