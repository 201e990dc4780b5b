"""`python -m kb.record`: make and extend the record."""

import sys

from kb.record.build import main

sys.exit(main())
