"""One program in a cell of its own, without a host: as its first process starts it."""

from pathlib import Path

from fourhands.providers.base import CellDirs, Launch, Provider, has_cells


def in_cell(provider: Provider, launch: Launch, place: Path, name: str = "run_test") -> Launch:
    """The launch that builds a cell and runs this one in it; the cell's directories are made below `place`.

    Landlock confines each launch by itself, so it needs no cell around it.
    """
    wrapped = provider.wrap(launch, terminal=False)
    if not has_cells(provider) or not provider.builder:
        return wrapped
    dirs = CellDirs(name, str(place / "cell-home"), str(place / "cell-tmp"))
    for path in (dirs.home, dirs.tmp):
        Path(path).mkdir(mode=0o700, exist_ok=True)
    variables = [f"{name}={value}" for name, value in wrapped.env.items()]
    enter = ["/bin/sh", "-c", 'cd "$1" && shift && "$@"', "first", wrapped.cwd]
    return provider.enclose([*enter, "env", "-i", *variables, wrapped.program, *wrapped.argv[1:]], dirs)
