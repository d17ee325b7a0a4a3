"""What the cluster reports of itself: the journal."""
