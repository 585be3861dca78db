"""``python -m structbo`` is the command ``structbo``."""

import sys

from structbo.command_line import main

sys.exit(main())
