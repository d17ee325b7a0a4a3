"""Record batches built and read column by column, with numpy and Arrow (extra `arrow`)."""
