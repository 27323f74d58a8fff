"""A machine on which some programs are not installed."""

from collections.abc import Iterable
from pathlib import Path

NODE = ("node", "nodejs", "npm", "npx", "corepack")


def path_without(place: Path, names: Iterable[str], *beside: str) -> str:
    """A search path with every program of the system but these, and of those that lie `beside` as well."""
    place.mkdir()
    for directory in (Path("/usr/bin"), Path("/bin"), *map(Path, beside)):
        for program in directory.iterdir():
            if program.name not in names and not (place / program.name).is_symlink():
                (place / program.name).symlink_to(program)
    return str(place)
