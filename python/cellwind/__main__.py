"""``python -m cellwind``: the command line."""

import sys

from cellwind.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
