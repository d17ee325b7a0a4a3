"""The declarations: one file an API, request and response. `protocol_specs.registry` finds them by API key."""
