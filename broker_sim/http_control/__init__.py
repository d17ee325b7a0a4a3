"""Control of running clusters over HTTP, for tests and tools in any language.

`broker-sim serve --control 127.0.0.1:0` starts it and prints `CONTROL_URL=`. Each call is declared once, as an
`Operation`: the router, the checks of its input and the OpenAPI document use the same declaration.
"""
