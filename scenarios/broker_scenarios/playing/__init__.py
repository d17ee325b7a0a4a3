"""The clients of a run: processes that play scripts or send loads, on virtual time or on real sockets."""
