"""The command `siamese`, also as ``python -m siamese.cli``."""

import sys


def run() -> int:
    """Runs the command; Ctrl-C while it is still being imported ends it as Ctrl-C later does."""
    try:
        from siamese.cli.main import main

        return main()
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(run())
