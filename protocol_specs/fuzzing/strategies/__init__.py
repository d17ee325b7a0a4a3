"""Hypothesis strategies for the protocol: valid input, and input with one rule broken (extra `fuzz`).

No other package of `protocol_specs` imports Hypothesis. `message`, `request` and `response` draw messages of a version;
`nearly_valid` draws the bytes of one with one rule broken, the name of the rule, and whether a reader must refuse them;
`frames` draws what clients can send to a broker, and `conversations` the traffic of one connection in both directions,
valid and broken; `records`, `record_batches`, `message_sets` and `record_sets` draw the content of partitions,
`nearly_valid_batches` record batches with one rule broken.
"""

from protocol_specs.fuzzing.batch_rules import NearlyValidBatch
from protocol_specs.fuzzing.rules import NearlyValid
from protocol_specs.fuzzing.strategies.conversations import (
    Conversation,
    Exchange,
    broken_conversations,
    conversations,
)
from protocol_specs.fuzzing.strategies.frames import Frame, broken_frames, frames, request_frames
from protocol_specs.fuzzing.strategies.messages import message, nearly_valid, request, response
from protocol_specs.fuzzing.strategies.records import (
    broken_bytes,
    codecs,
    control_batches,
    message_set_codecs,
    message_sets,
    nearly_valid_batches,
    record_batches,
    record_sets,
    records,
)
from protocol_specs.fuzzing.valid_records import BASE_TIMESTAMP

__all__ = [
    "BASE_TIMESTAMP",
    "Conversation",
    "Exchange",
    "Frame",
    "NearlyValid",
    "NearlyValidBatch",
    "broken_bytes",
    "broken_conversations",
    "broken_frames",
    "codecs",
    "control_batches",
    "conversations",
    "frames",
    "message",
    "message_set_codecs",
    "message_sets",
    "nearly_valid",
    "nearly_valid_batches",
    "record_batches",
    "record_sets",
    "records",
    "request",
    "request_frames",
    "response",
]
