"""``python -m siamese.cli``."""

import sys

from siamese.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
