"""Writes how many columns each character takes, for the page: `python -m scripts.widths`.

The page's terminal and the emulator by which a newcomer is shown the present screen must agree on it, or everything
behind such a character stands elsewhere; therefore the page asks the emulator's own table.
"""

from itertools import groupby
from pathlib import Path

from pyghostty import lib

OUT = Path(__file__).parent.parent / "web" / "src" / "model" / "widths.ts"
LAST = 0x10FFFF


def runs(width: int) -> list[tuple[int, int]]:
    """Return the first and last of each run of characters that take so many columns."""
    points = (point for point in range(0xA0, LAST + 1) if lib.ghostty_unicode_codepoint_width(point) == width)
    found = []
    for _, members in groupby(enumerate(points), key=lambda item: item[1] - item[0]):
        run = [point for _, point in members]
        found.append((run[0], run[-1]))
    return found


def text() -> str:
    """Return the text of the module."""
    lines = [
        "// How many columns a character takes, as the server counts. Written by `python -m scripts.widths`.",
        "",
    ]
    for name, width in (("NONE", 0), ("TWO", 2)):
        lines.append("// First and last of each run, as differences: gap before it, then its length less one.")
        lines += [f"const {name} =", *_folded(runs(width)), ""]
    return "\n".join(lines) + LOOKUP


def _folded(found: list[tuple[int, int]]) -> list[str]:
    numbers, at = [], 0
    for first, last in found:
        numbers += [first - at, last - first]
        at = last
    words = [f"{number:x}" for number in numbers]
    rows = [" ".join(words[at : at + 32]) for at in range(0, len(words), 32)]
    return [f'  "{row} " +' for row in rows[:-1]] + [f'  "{rows[-1]}";']


LOOKUP = """
const LAST = 0x10ffff;
const table = new Uint8Array(LAST + 1).fill(1);

function fill(runs: string, width: number): void {
  let at = 0;
  const numbers = runs.split(" ").map((word) => Number.parseInt(word, 16));
  for (let n = 0; n < numbers.length; n += 2) {
    const first = at + numbers[n]!;
    at = first + numbers[n + 1]!;
    table.fill(width, first, at + 1);
  }
}

fill(NONE, 0);
fill(TWO, 2);
table.fill(0, 0, 0x20);
table.fill(0, 0x7f, 0xa0);

export function columns(point: number): 0 | 1 | 2 {
  return (table[point] ?? 1) as 0 | 1 | 2;
}

// What xterm.js asks for. A mark joins the character before it also where something else came in between.
export const widths = {
  version: "fourhands",
  wcwidth: columns,
  charProperties(point: number, before: number): number {
    const own = columns(point);
    const joins = own === 0;
    const width = joins ? (before >> 1) & 3 : own;
    return (width << 1) | (joins ? 1 : 0);
  },
};
"""


if __name__ == "__main__":
    OUT.write_text(text())
