"""Runs the command line: ``python -m structbo``."""

import sys

from structbo.command_line import main

if __name__ == "__main__":
    sys.exit(main())
