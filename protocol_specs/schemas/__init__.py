"""Schemas that are neither request nor response; `protocol_specs.registry` finds them by name."""
