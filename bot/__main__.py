"""`python -m bot`, the same as the `askfirst` command."""

import sys

from bot.cli.main import main as run


def main() -> None:
    sys.exit(run())


if __name__ == "__main__":
    main()
