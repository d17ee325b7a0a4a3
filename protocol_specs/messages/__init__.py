"""The declarations: one file per API, with request and response. `protocol_specs.registry` finds them by API key."""
