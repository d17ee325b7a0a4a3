"""The log of one replica: batches, leader epochs, producer states. Mirrors UnifiedLog and what it stands on."""
