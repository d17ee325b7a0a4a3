"""The handlers of a broker's APIs: one file per API. `kafka_apis` is the table of them."""
