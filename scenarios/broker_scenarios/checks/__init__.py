"""One anomaly per file: each check is a function from the analysed history of one partition to its findings."""
