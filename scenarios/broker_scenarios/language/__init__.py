"""The language of scenario files: keys, positions, clients, scripts and expectations, checked before a run."""
