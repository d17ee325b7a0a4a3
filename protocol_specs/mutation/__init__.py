"""Hostile bytes: frames, messages and record sets changed at a field's path, and framed again correctly or not."""

from protocol_specs.mutation.field_paths import UnknownFieldPath
from protocol_specs.mutation.field_tree import MutationError, Reframe
from protocol_specs.mutation.mutations import (
    Mutation,
    Operation,
    frame_paths,
    message_paths,
    mutate,
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
    "mutate",
    "mutate_message",
    "mutate_record_set",
]
