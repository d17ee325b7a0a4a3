"""The timelines of `broker-sim trace`: one request, one batch, one record or one partition."""
