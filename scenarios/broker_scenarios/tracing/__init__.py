"""What `broker-sim trace` tells: one request, one batch, one record or one partition, as a timeline."""
