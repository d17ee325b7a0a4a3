"""SASL of a client: logins, the clients of the mechanisms, and the exchange that comes before the first request."""
