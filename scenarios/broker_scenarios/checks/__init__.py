"""One anomaly per file, grouped by the scope that a check folds over: each is a function that returns its findings."""
