"""Authentication by SASL on the server's side, without I/O: its states, its mechanisms, its settings."""
