"""What a producer can be told: the errors of broker_client, with the Kafka exception that each one mirrors.

`error_code` is Kafka's number for the error (Errors.forException); `maybe_written` says whether the record may be in
the log all the same: an attempt was cut off, or a broker answered after it had appended.
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
    "IllegalState",
    "InvalidRecordBatch",
    "InvalidTopic",
    "MetadataTimeout",
    "ProducerClosed",
    "ProducerError",
    "ProducerForked",
    "ProducerTimeout",
    "RecordTooLarge",
    "SerializationError",
    "SslAuthenticationFailed",
    "TopicAuthorizationFailed",
    "UnsupportedVersion",
    "WaitExpired",
    "error_of",
]


class ProducerError(Exception):
    """The root of everything that broker_client raises. Mirrors KafkaException."""

    error_code: ErrorCode = ErrorCode.UNKNOWN_SERVER_ERROR
    maybe_written: bool = False


class ConfigError(ProducerError, ValueError):
    """A configuration that cannot be: names the key, the value, and what would do. Mirrors ConfigException."""

    error_code = ErrorCode.INVALID_CONFIG


class IllegalState(ProducerError):
    """A part was asked for what its state does not allow: a mistake of ours. Mirrors IllegalStateException."""


class ProducerClosed(ProducerError):
    """The client was closed before or during the call, or closed by force while the record waited."""


class ProducerForked(ProducerError):
    """A producer is used in a process forked after it was made: its network thread stayed in the parent."""


class SerializationError(ProducerError, TypeError):
    """A key, value or header that cannot be made bytes; names `key.serializer` or `value.serializer`."""


class ProducerTimeout(ProducerError, TimeoutError):
    """A wait that ended by its deadline; `option` is the setting that allows more. Mirrors TimeoutException."""

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
    """A `flush`, `close` or `result` took longer than the time-out that its caller gave."""


class RecordTooLarge(ProducerError, ValueError):
    """A record that no request or no buffer could hold. Mirrors RecordTooLargeException."""

    error_code = ErrorCode.MESSAGE_TOO_LARGE

    def __init__(self, size_bytes: int, limit_bytes: int, option: str) -> None:
        super().__init__(size_bytes, limit_bytes, option)
        self.size_bytes = size_bytes
        self.limit_bytes = limit_bytes
        self.option = option

    def __str__(self) -> str:
        return f"the record is {self.size_bytes} bytes when serialized, {self.option} allows {self.limit_bytes}"


class InvalidRecordBatch(ProducerError):
    """The record was in a batch that the broker refused because of other records of it."""

    error_code = ErrorCode.INVALID_RECORD


class UnsupportedVersion(ProducerError):
    """The broker speaks no version of an API that this client speaks. Mirrors UnsupportedVersionException."""

    error_code = ErrorCode.UNSUPPORTED_VERSION


class ConnectionFailed(ProducerError):
    """A connection that could not be made or was lost; only ever the cause in another error's text."""

    error_code = ErrorCode.NETWORK_EXCEPTION


class AuthenticationFailed(ProducerError):
    """Client and broker do not accept each other: no later attempt heals that. Mirrors AuthenticationException."""


class SslAuthenticationFailed(AuthenticationFailed):
    """No TLS with a broker: names what to change, here or there. Mirrors SslAuthenticationException."""


class BrokerError(ProducerError):
    """A broker's final answer about a record or a request: `error_code`, and the broker's words if it had any."""

    def __init__(self, error_code: ErrorCode, message: str | None = None) -> None:
        super().__init__(error_code, message)
        self.error_code = error_code
        self.message = message

    @property
    def retriable(self) -> bool:
        """Whether the same request may succeed later."""
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
    """The client may not write to, or see, the topic. Mirrors TopicAuthorizationException."""

    def __init__(self, topic: str) -> None:
        super().__init__(ErrorCode.TOPIC_AUTHORIZATION_FAILED, f"not authorized to access topic {topic!r}")
        self.args = (topic,)
        self.topic = topic


class _Messages:
    """The texts that this client adds to a code whose name alone does not tell what happened."""

    BY_CODE: ClassVar[dict[ErrorCode, str]] = {
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "the producer is not authorized to do idempotent sends",
        ErrorCode.MESSAGE_TOO_LARGE: "the broker's message.max.bytes, or the topic's max.message.bytes, allows less",
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: "the broker has a gap in this producer's sequence numbers",
    }


def error_of(error_code: ErrorCode, message: str | None = None, *, topic: str | None = None) -> ProducerError:
    """The error that stands for a broker's code. Mirrors Errors.exception."""
    if error_code is ErrorCode.TOPIC_AUTHORIZATION_FAILED and topic is not None:
        return TopicAuthorizationFailed(topic)
    if error_code is ErrorCode.UNSUPPORTED_VERSION:
        return UnsupportedVersion(message or "the broker does not support the version of the request")
    return BrokerError(error_code, message or _Messages.BY_CODE.get(error_code))
