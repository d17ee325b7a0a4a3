"""The messages of SASL mechanisms, which SaslAuthenticate carries, and the keys of SCRAM: pure, for both sides."""
