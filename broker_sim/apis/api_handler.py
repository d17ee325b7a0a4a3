"""One API's handler, and the table of all handlers of a kind of node: brokers or controllers. Mirrors the dispatch of
KafkaApis.handle and ControllerApis.handle.

A handler file is named after its API (`ApiKey.module`) and ends with `HANDLER = ApiHandler(...)`. It is imported at the
first request of its API, so that an API costs nothing before.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from protocol_specs import registry
from protocol_specs.api_key import ApiKey, Served

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.apis.handler_result import HandlerResult, NoResponse
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.error_codes import ErrorCode
    from protocol_specs.message import Message

__all__ = ["ApiHandler", "HandlerTable"]


def top_level_error(request: Any, context: RequestContext, error_code: ErrorCode) -> Message:  # noqa: ARG001
    """Return the error response of an API whose response has one error code for everything."""
    response: Any = registry.response_type(context.api_key)()
    if hasattr(response, "error_code"):
        response.error_code = int(error_code)
    return response  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiHandler:
    """The handler of one API: `handle`, and `error_response` for a request that fails as a whole.

    `error_response` mirrors AbstractRequest.getErrorResponse, `refuse` the constructor of the API's request class.
    """

    handle: Callable[[Any, RequestContext], HandlerResult]
    error_response: Callable[[Any, RequestContext, ErrorCode], Message | NoResponse] = top_level_error
    partitions: Callable[[Any, RequestContext], list[tuple[str, int]]] | None = None
    """The topics and partitions of a request, where fault rules can name one of them."""
    refuse: Callable[[Any, RequestContext], NoResponse | None] | None = None
    """Closes the connection for fields that Kafka cannot make a request of, before anything else is checked."""


class HandlerTable:
    """The handlers of one kind of node; `packages` are searched in order for the file of an API.

    An API without a file has `default`, or the table cannot serve it.
    """

    def __init__(self, *packages: str, served: Served, default: Callable[[ApiKey], ApiHandler] | None = None) -> None:
        self.served = tuple(key for key in ApiKey if served in key.facts.served)
        """The APIs of the table, by ascending key."""
        self.loaded: dict[ApiKey, ApiHandler] = {}
        """The handlers that were requested so far."""
        self._packages = packages
        self._default = default

    def handler_of(self, api_key: ApiKey) -> ApiHandler:
        """Return the handler of a served API.

        Raises:
            LookupError: The table does not serve the API.
        """
        handler = self.loaded.get(api_key)
        if handler is None:
            handler = self.loaded[api_key] = self._load(api_key)
        return handler

    def _load(self, api_key: ApiKey) -> ApiHandler:
        if api_key in self.served:
            for package in self._packages:
                name = f"{package}.{api_key.module}"
                if find_spec(name) is not None:
                    handler: ApiHandler = import_module(name).HANDLER
                    return handler
            if self._default is not None:
                return self._default(api_key)
        raise LookupError(f"{self._packages[0]} has no handler of {api_key.api_name}")
