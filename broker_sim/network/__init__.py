"""The broker's network layer: Acceptor, Processors, RequestChannel and handlers as stages on one reactor."""
