"""``python -m siamese.cli``."""

from siamese.cli.main import main

if __name__ == "__main__":
    main()
