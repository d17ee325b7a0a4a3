"""`python -m broker_sim`: the same as `broker-sim serve`."""

from __future__ import annotations

import argparse
import sys

from broker_sim import serve


def main() -> int:
    """Parse the options and serve."""
    parser = argparse.ArgumentParser(prog="python -m broker_sim", description=serve.__doc__)
    serve.add_arguments(parser)
    return serve.run(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
