"""Server-side assignors: functions from members and topics to a target assignment."""
