"""Records waiting to be sent: RecordAccumulator, ProducerBatch, BufferPool and the partitioners."""
