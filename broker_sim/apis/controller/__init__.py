"""The handlers of controllers, one file per API. An API that is not here is served as at brokers."""
