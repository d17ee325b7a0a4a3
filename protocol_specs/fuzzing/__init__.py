"""Fuzzing of the protocol: valid input, corpus, targets, mutators, an oracle and shrinking.

`mutate_message` changes the bytes of a message at field paths, `mutate_frame` a frame with its size and header, and
`mutate_record_set` the content of a Records field:

    mutate_message(ProduceRequest, 9, body, [
        Mutation.set("topic_data[0].partition_data[0].records.batch[0].crc", 0),
        Mutation.lengthen("topic_data[0].name", by=3, reframe=Reframe(lengths=False)),
    ])

Lengths, counts and checksums around a change are computed anew unless `reframe` keeps them. `message_paths` and
`frame_paths` list the paths. A change that is impossible raises MutationError, an unknown path UnknownFieldPath, which
is one, with the nearest names. All functions take bytes and return bytes: they need neither a socket nor a clock nor
Hypothesis, so that a fault action can call them.

The other modules, in the order in which a campaign uses them:

- `choices`: where choices come from, a seeded stream or Hypothesis
- `valid_messages`, `valid_records`: valid input; `targets`: what reads it; `corpus`: valid bytes of a target
- `rules`, `batch_rules`: rules of the wire format, each broken alone; `noise`: mutators for any bytes;
  `mutators`: all of them together
- `oracle`, `record_readers`: whether reading keeps the rules of the codec
- `campaign`: millions of frames by number; `shrinking`: the smallest bytes for a finding
- `strategies`: all of this for Hypothesis; nothing else in `protocol_specs` imports it
"""

from protocol_specs.fuzzing.field_map import MutationError, Reframe
from protocol_specs.fuzzing.field_paths import UnknownFieldPath
from protocol_specs.fuzzing.mutations import (
    Mutation,
    Operation,
    frame_paths,
    message_paths,
    mutate_frame,
    mutate_message,
    mutate_record_set,
)

__all__ = [
    "Mutation",
    "MutationError",
    "Operation",
    "Reframe",
    "UnknownFieldPath",
    "frame_paths",
    "message_paths",
    "mutate_frame",
    "mutate_message",
    "mutate_record_set",
]
