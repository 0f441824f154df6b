"""`python -m isl`: the command line, where its script is not on the path."""

import sys

from isl.cli.main import main

sys.exit(main())
