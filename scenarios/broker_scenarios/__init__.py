"""The harness: scenario files become runs, runs become histories, histories become verdicts."""
