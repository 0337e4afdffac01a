"""The commands people type. `main.py` is the table of them; each other module is one command."""

import argparse
from typing import TypeAlias

#: What a command adds itself to; argparse gives its type no public name.
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
