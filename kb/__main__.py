"""`python -m kb`: the command line."""

import sys

from kb.cli import main

sys.exit(main())
