"""Fault injection: rules that delay, hold, fail, cut or lose requests, and that kill and restart nodes."""
