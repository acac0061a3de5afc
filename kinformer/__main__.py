"""``python -m kinformer`` is ``kinformer``."""

import sys

from kinformer.cli import main

if __name__ == "__main__":
    sys.exit(main())
