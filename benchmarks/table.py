"""Prints rows as a table that can be read and pasted."""

from collections.abc import Sequence


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    cells = [[str(cell) for cell in row] for row in (columns, *rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(columns))]
    print(f"\n{title}")
    for number, row in enumerate(cells):
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        if number == 0:
            print("  " + "  ".join("-" * width for width in widths))


def main() -> None:
    print("benchmarks.table only formats the others' results.")


def verdict(value: float, limit: float, *, at_least: bool = False) -> str:
    """Say whether a measured ratio is within what was promised."""
    good = value >= limit if at_least else value <= limit
    return f"{'ok' if good else 'MISSED'} ({'≥' if at_least else '≤'} {limit:g})"
