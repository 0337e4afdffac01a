"""Runs all benchmarks, or those that are named."""

import importlib
import pkgutil
import sys

import benchmarks


def main() -> None:
    known = [
        module.name for module in pkgutil.iter_modules(benchmarks.__path__) if not module.name.startswith("_")
    ]
    wanted = sys.argv[1:] or [name for name in known if name != "table"]
    for name in wanted:
        if name not in known:
            sys.exit(f"There is no benchmark {name!r}. There are: {', '.join(known)}")
        importlib.import_module(f"benchmarks.{name}").main()


main()
