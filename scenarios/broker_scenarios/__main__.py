"""Runs the command line: `python -m broker_scenarios` is `broker-sim`."""

import sys

from broker_scenarios.cli import main

sys.exit(main())
