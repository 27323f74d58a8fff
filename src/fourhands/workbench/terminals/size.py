"""Sizes that a terminal may have."""

from fourhands.core.errors import BadArgument

SMALLEST, LARGEST = (2, 1), (1000, 1000)
"""Columns and rows that a terminal may have."""


def check_size(cols: int, rows: int) -> None:
    """Refuse sizes that no terminal can have."""
    for value, name, low, high in ((cols, "cols", SMALLEST[0], LARGEST[0]), (rows, "rows", SMALLEST[1], LARGEST[1])):
        if type(value) is not int or not low <= value <= high:
            raise BadArgument(f"{name} must be a whole number from {low} to {high}, not {value!r}")
