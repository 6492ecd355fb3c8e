"""``python -m mialeak``, the same as the command ``mialeak``."""

from __future__ import annotations

import sys

from mialeak.cli import main

if __name__ == "__main__":
    sys.exit(main())
