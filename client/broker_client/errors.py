"""The errors of broker_client, each with the Kafka exception that it mirrors.

`error_code` is Kafka's number for the error (Errors.forException). `maybe_written` is True if the record may be in the
log nevertheless: a request got no response, or a broker reported the error after it had appended.
"""

from __future__ import annotations

from typing import ClassVar

from protocol_specs.error_codes import ErrorCode

__all__ = [
    "AuthenticationFailed",
    "BatchExpired",
    "BrokerError",
    "BufferExhausted",
    "ConfigError",
    "ConnectionFailed",
    "IllegalSaslState",
    "IllegalState",
    "InvalidRecordBatch",
    "InvalidTopic",
    "MetadataTimeout",
    "ProducerClosed",
    "ProducerError",
    "ProducerForked",
    "ProducerTimeout",
    "RecordTooLarge",
    "SaslAuthenticationFailed",
    "SerializationError",
    "SslAuthenticationFailed",
    "TopicAuthorizationFailed",
    "UnsupportedSaslMechanism",
    "UnsupportedVersion",
    "WaitExpired",
    "error_of",
]


class ProducerError(Exception):
    """The base class of all errors that broker_client raises. Mirrors KafkaException."""

    error_code: ErrorCode = ErrorCode.UNKNOWN_SERVER_ERROR
    maybe_written: bool = False


class ConfigError(ProducerError, ValueError):
    """A configuration is not valid; names the key, the value and what is expected. Mirrors ConfigException."""

    error_code = ErrorCode.INVALID_CONFIG


class IllegalState(ProducerError):
    """The state of the client does not allow the call. Mirrors IllegalStateException."""


class ProducerClosed(ProducerError):
    """The client was closed before or during the call, or closed by force while the record waited."""


class ProducerForked(ProducerError):
    """The producer was created before a fork, and its network thread is in the parent process."""


class SerializationError(ProducerError, TypeError):
    """A key, value or header cannot be serialized or deserialized; names the configuration.

    Mirrors SerializationException.
    """


class ProducerTimeout(ProducerError, TimeoutError):
    """A wait reached its deadline; `option` names the setting that allows more. Mirrors TimeoutException."""

    error_code = ErrorCode.REQUEST_TIMED_OUT

    def __init__(self, text: str, option: str) -> None:
        super().__init__(text, option)
        self.text = text
        self.option = option

    def __str__(self) -> str:
        return f"{self.text}; raise {self.option} to allow more"


class MetadataTimeout(ProducerTimeout):
    """A topic, or one of its partitions, did not appear in the metadata in time."""


class BufferExhausted(ProducerTimeout):
    """`buffer.memory` stayed full for as long as a send may block. Mirrors BufferExhaustedException."""


class BatchExpired(ProducerTimeout):
    """A batch was not acknowledged within `delivery.timeout.ms` of its creation."""


class WaitExpired(ProducerTimeout):
    """A `flush`, `close` or `result` took longer than the time-out of its caller."""


class RecordTooLarge(ProducerError, ValueError):
    """A record is larger than a request or the buffer can be. Mirrors RecordTooLargeException."""

    error_code = ErrorCode.MESSAGE_TOO_LARGE

    def __init__(self, size_bytes: int, limit_bytes: int, option: str) -> None:
        super().__init__(size_bytes, limit_bytes, option)
        self.size_bytes = size_bytes
        self.limit_bytes = limit_bytes
        self.option = option

    def __str__(self) -> str:
        return f"the record is {self.size_bytes} bytes when serialized, {self.option} allows {self.limit_bytes}"


class InvalidRecordBatch(ProducerError):
    """The broker refused the batch of the record because of other records in it."""

    error_code = ErrorCode.INVALID_RECORD


class UnsupportedVersion(ProducerError):
    """Broker and client have no version of an API in common. Mirrors UnsupportedVersionException."""

    error_code = ErrorCode.UNSUPPORTED_VERSION


class ConnectionFailed(ProducerError):
    """A connection failed or was lost; it occurs as a cause in the text of other errors only."""

    error_code = ErrorCode.NETWORK_EXCEPTION


class AuthenticationFailed(ProducerError):
    """Authentication between client and broker failed; a retry does not help. Mirrors AuthenticationException."""


class SslAuthenticationFailed(AuthenticationFailed):
    """A TLS handshake failed; names the configuration to change. Mirrors SslAuthenticationException."""


class SaslAuthenticationFailed(AuthenticationFailed):
    """The broker has refused the credentials, or the client the broker. Mirrors SaslAuthenticationException."""

    error_code = ErrorCode.SASL_AUTHENTICATION_FAILED


class UnsupportedSaslMechanism(AuthenticationFailed):
    """The broker has not enabled sasl.mechanism. Mirrors UnsupportedSaslMechanismException."""

    error_code = ErrorCode.UNSUPPORTED_SASL_MECHANISM


class IllegalSaslState(AuthenticationFailed):
    """The listener has no SASL, or the order of the exchange is wrong. Mirrors IllegalSaslStateException."""

    error_code = ErrorCode.ILLEGAL_SASL_STATE


class BrokerError(ProducerError):
    """A broker refused a record or a request: `error_code`, and the broker's message if it sent one."""

    def __init__(self, error_code: ErrorCode, message: str | None = None) -> None:
        super().__init__(error_code, message)
        self.error_code = error_code
        self.message = message

    @property
    def retriable(self) -> bool:
        """True if the same request may succeed later."""
        return self.error_code.retriable

    def __str__(self) -> str:
        return f"{self.error_code.name}: {self.message}" if self.message else self.error_code.name


class InvalidTopic(BrokerError):
    """A topic name that Kafka refuses. Mirrors InvalidTopicException."""

    def __init__(self, topic: str) -> None:
        super().__init__(ErrorCode.INVALID_TOPIC_EXCEPTION, f"invalid topic name {topic!r}")
        self.args = (topic,)
        self.topic = topic


class TopicAuthorizationFailed(BrokerError):
    """The client is not authorized to write to the topic or to describe it. Mirrors TopicAuthorizationException."""

    def __init__(self, topic: str) -> None:
        super().__init__(ErrorCode.TOPIC_AUTHORIZATION_FAILED, f"not authorized to access topic {topic!r}")
        self.args = (topic,)
        self.topic = topic


class _Messages:
    """The texts that this client adds to codes whose names alone are not clear."""

    BY_CODE: ClassVar[dict[ErrorCode, str]] = {
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "the producer is not authorized to do idempotent sends",
        ErrorCode.MESSAGE_TOO_LARGE: "the broker's message.max.bytes, or the topic's max.message.bytes, allows less",
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: "the broker has a gap in this producer's sequence numbers",
    }


def error_of(error_code: ErrorCode, message: str | None = None, *, topic: str | None = None) -> ProducerError:
    """Return the error for a broker's error code. Mirrors Errors.exception."""
    if error_code is ErrorCode.TOPIC_AUTHORIZATION_FAILED and topic is not None:
        return TopicAuthorizationFailed(topic)
    if error_code is ErrorCode.UNSUPPORTED_VERSION:
        return UnsupportedVersion(message or "the broker does not support the version of the request")
    return BrokerError(error_code, message or _Messages.BY_CODE.get(error_code))
