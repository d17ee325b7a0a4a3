"""Hypothesis strategies for the protocol: valid values first, then ones broken on purpose (extra `fuzz`).

Nothing else in protocol_specs imports Hypothesis. `message`, `request` and `response` draw values that a version
carries; `nearly_valid` draws their bytes with one rule broken, and says which and whether a reader must refuse them;
`frames` draws what a client may send to a broker, sound and broken, and `conversations` what passes over one connection
in both directions; `records`, `record_batches`, `message_sets` and `record_sets` draw what partitions hold,
`nearly_valid_batches` record batches with one rule broken.
"""

from protocol_specs.strategies.broken_batches import NearlyValidBatch, control_batches, nearly_valid_batches
from protocol_specs.strategies.conversations import Conversation, Exchange, broken_conversations, conversations
from protocol_specs.strategies.frames import Frame, broken_frames, frames, request_frames
from protocol_specs.strategies.message_sets import message_set_codecs, message_sets, record_sets
from protocol_specs.strategies.messages import message, request, response
from protocol_specs.strategies.near_misses import NearlyValid, nearly_valid
from protocol_specs.strategies.records import (
    BASE_TIMESTAMP,
    broken_bytes,
    codecs,
    payloads,
    record_batches,
    record_headers,
    records,
)

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
    "payloads",
    "record_batches",
    "record_headers",
    "record_sets",
    "records",
    "request",
    "request_frames",
    "response",
]
