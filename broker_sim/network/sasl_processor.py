"""A Processor of a SASL listener: it serves no request of a connection before its authentication. Mirrors
KafkaChannel.prepare, maybeBeginServerReauthentication and Selector's delayed close.

Requests of the authentication pass the stages of the RpcServer as all others do, so that the journal has them and fault
rules apply to them, but no handler: a Processor serves them itself.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from broker_sim.apis.handler_result import PreparedResponse
from broker_sim.control.events import AuthenticationFailed, AuthenticationSucceeded
from broker_sim.network.processor import Processor
from broker_sim.network.sasl_counts import SaslCounts
from broker_sim.network.sasl_refusals import with_refusal_text
from broker_sim.network.sasl_session import SaslSession
from broker_sim.security.sasl.authenticator import SaslServerAuthenticator, SaslStep, Verdict
from protocol_specs.api_key import ApiKey
from protocol_specs.errors import ProtocolError
from protocol_specs.framing import framed
from protocol_specs.message import Message
from protocol_specs.messages.api_versions import ApiVersionsResponse

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import NoResponse, Response
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.network.acceptor import Acceptor
    from broker_sim.network.channel import KafkaChannel
    from broker_sim.network.routes import Route
    from broker_sim.network.socket_server import SocketServer

__all__ = ["SaslProcessor", "authenticated"]

MIN_REAUTH_INTERVAL_US: Final = 1_000_000
"""A connection may authenticate again at most once per second. Mirrors MIN_REAUTH_INTERVAL_ONE_SECOND_NANOS."""
_HANDSHAKE: Final = struct.pack(">h", ApiKey.SASL_HANDSHAKE)
_API_KEYS: Final = {int(key): key for key in ApiKey}


class SaslProcessor(Processor):
    """A share of a SASL listener's connections."""

    def __init__(self, server: SocketServer, processor_id: int, acceptor: Acceptor) -> None:
        super().__init__(server, processor_id, acceptor)
        assert acceptor.sasl is not None
        self._listener = acceptor.sasl
        self.sasl_counts = self._counts = SaslCounts()

    # Connections.

    def _register(self, channel: KafkaChannel) -> None:
        channel.session = SaslSession(authenticator=SaslServerAuthenticator(self._listener))
        channel.limit_frames(self._listener.max_receive_bytes, "sasl.server.max.receive.size")
        super()._register(channel)

    def forget(self, channel: KafkaChannel) -> None:
        """Remove a closed connection with its session."""
        session = channel.session
        if session is not None and session.delay is not None:
            session.delay.cancel()
            session.delay = None
        super().forget(channel)

    def refuse_bytes(self, channel: KafkaChannel, reason: str) -> None:
        """Close a connection because the bytes of its peer are no request; an invalid size fails an authentication."""
        session = channel.session
        if session is None or session.authenticator.is_complete or not channel.has_invalid_size:
            super().refuse_bytes(channel, reason)
            return
        channel.unreadable = True
        if session.failure is None:
            self._apply(channel, session, session.authenticator.too_large(reason))

    # Requests.

    def receive(self, channel: KafkaChannel, frame: bytes) -> None:
        """Serve a frame: a request of an authenticated client, or a step of the authentication."""
        session = channel.session
        if session is None or session.failure is not None:
            return
        if session.authenticator.is_complete:
            if session.expires_us is not None and not self._may_go_on(channel, session, session.expires_us, frame):
                return
            super().receive(channel, frame)
            return
        authenticator = session.authenticator
        if authenticator.expects_bare_token:
            self._apply(channel, session, authenticator.bare_token(frame))
            return
        api_key = self._api_key_of(frame)
        if isinstance(api_key, str):
            refusal: SaslStep | None = authenticator.read_nothing(api_key)
        else:
            refusal = authenticator.admits(api_key)
        if refusal is None:
            super().receive(channel, frame)
        else:
            self._apply(channel, session, refusal)

    def _api_key_of(self, frame: bytes) -> ApiKey | str:
        """Return the API of a request, or the reason for which its header cannot be read."""
        try:
            header, _ = self._read_header(frame)
        except ProtocolError as error:
            return str(error)
        found = _API_KEYS.get(header.request_api_key)
        return f"unknown API key {header.request_api_key}" if found is None else found

    def _may_go_on(self, channel: KafkaChannel, session: SaslSession, expires_us: int, frame: bytes) -> bool:
        """Begin a re-authentication, or close an expired connection and return False."""
        now_us = self._journal.now_us()
        last_us = session.reauthentication_us
        if frame.startswith(_HANDSHAKE) and (last_us is None or now_us - last_us >= MIN_REAUTH_INTERVAL_US):
            session.reauthentication_us = now_us
            session.authenticator = SaslServerAuthenticator(self._listener, previous=session.authenticator)
            return True
        if now_us <= expires_us:
            return True
        self._counts.expired_sessions += 1
        channel.close("its session has expired without re-authentication (connections.max.reauth.ms)")
        return False

    def _accept(self, context: RequestContext, route: Route) -> None:
        channel: KafkaChannel = context.origin
        session = channel.session
        assert session is not None, "a registered connection has a session"
        if session.authenticator.is_complete:
            super()._accept(context, route)
            return
        if session.failure is not None or channel.closed:
            return
        context.throttle_ms = 0  # no quota applies to an authentication
        if not self._decode(context, route):
            return
        refusal = self._node.apis.refusal(context)
        if refusal is not None:
            self._rpc.respond(context, refusal)
            return
        authenticator = session.authenticator
        step = authenticator.request(context.api_key, context.request, context.api_version)
        if step is not None:
            self._apply(channel, session, step, context)
            return
        result = self._node.apis.serve(context)
        # A prepared response is one without an error.
        if isinstance(result, PreparedResponse) or (isinstance(result, ApiVersionsResponse) and not result.error_code):
            authenticator.versions_sent()
        self._rpc.respond(context, result)

    # Results of the authentication.

    def _apply(
        self, channel: KafkaChannel, session: SaslSession, step: SaslStep, context: RequestContext | None = None
    ) -> None:
        """Do what a step of the authentication states; `context` is None for a frame that is no request."""
        if step.verdict is Verdict.GO_ON:
            if session.authenticator.is_complete:
                self._authenticated(channel, session)
            if context is not None:
                assert step.response is not None
                self._rpc.respond(context, step.response)
            elif step.token is not None:
                channel.send(framed(step.token))
            return
        response = self._response_to_failed(step, context)
        session.failure, session.failed_request, session.failed_response = step, context, response
        self._note_failure(channel, session, step)
        # A request without a response, such as a Produce with acks=0, is not delayed.
        if step.verdict is Verdict.CLOSE or (step.error_code is not None and context is not None and response is None):
            self.refuse(channel, step.reason)
            return
        if context is None:
            channel.mute_for_request()
        delay_ms = self._listener.failure_delay_ms
        if delay_ms > 0:
            session.delay = self.server.reactor.callLater(delay_ms / 1000, self._end_failed, channel, session)
        else:
            self._end_failed(channel, session)

    def _end_failed(self, channel: KafkaChannel, session: SaslSession) -> None:
        """Send the response of a failed authentication, and close the connection."""
        session.delay = None
        if session.failed_request is not None and session.failed_response is not None:
            self._rpc.respond(session.failed_request, session.failed_response)
        else:
            assert session.failure is not None
            self.refuse(channel, session.failure.reason)

    def _response_to_failed(self, step: SaslStep, context: RequestContext | None) -> Message | None:
        """Return the response to the request with which an authentication fails, None if it has none."""
        if context is None:
            return None
        error_code = step.error_code
        response = step.response if error_code is None else self._node.apis.error_response(context, error_code)
        if not isinstance(response, Message):
            return None
        return with_refusal_text(response, context.api_key, step.reason, context.behaviour)

    def send(self, context: RequestContext, response: Response) -> None:
        """Send a response; close the connection if it is that of a failed authentication."""
        super().send(context, response)
        self._close_failed(context)

    def finish(self, context: RequestContext, outcome: NoResponse) -> None:
        """End a request without a response; close the connection if it is that of a failed authentication."""
        super().finish(context, outcome)
        self._close_failed(context)

    def _close_failed(self, context: RequestContext) -> None:
        channel: KafkaChannel = context.origin
        session = channel.session
        if session is not None and session.failed_request is context and session.failure is not None:
            self.refuse(channel, session.failure.reason)

    def _authenticated(self, channel: KafkaChannel, session: SaslSession) -> None:
        authenticator = session.authenticator
        if session.reauthentication_us is None:
            self._counts.successful_authentications += 1
        else:
            self._counts.successful_reauthentications += 1
        info = channel.info
        info.principal = authenticator.principal
        info.token_authenticated = authenticator.token_authenticated
        now_us = self._journal.now_us()
        lifetime_ms, validity_us = authenticator.lifetime_ms, authenticator.validity_us
        session.expires_us = None if validity_us is None else now_us + validity_us
        channel.limit_frames(self._node.config.socket_request_max_bytes, "socket.request.max.bytes")
        if self._journal.full:
            self._journal.append(
                AuthenticationSucceeded(
                    time_us=now_us,
                    broker_id=self._node.id,
                    connection_id=info.connection_id,
                    listener=info.listener_name,
                    mechanism=authenticator.mechanism,
                    principal=authenticator.principal,
                    lifetime_ms=-1 if lifetime_ms is None else lifetime_ms,
                )
            )

    def _note_failure(self, channel: KafkaChannel, session: SaslSession, step: SaslStep) -> None:
        if step.verdict is Verdict.FAIL:
            if session.reauthentication_us is None:
                self._counts.failed_authentications += 1
            else:
                self._counts.failed_reauthentications += 1
        if self._journal.full:
            info = channel.info
            self._journal.append(
                AuthenticationFailed(
                    time_us=self._journal.now_us(),
                    broker_id=self._node.id,
                    connection_id=info.connection_id,
                    listener=info.listener_name,
                    mechanism=session.authenticator.mechanism,
                    reason=step.reason,
                )
            )


def authenticated(processor_type: type[Processor]) -> type[Processor]:
    """Return a subclass of a Processor type that authenticates its connections."""
    if processor_type is Processor:
        return SaslProcessor
    return type(f"Sasl{processor_type.__name__}", (SaslProcessor, processor_type), {})
