// How many columns a character takes, as the server counts. Written by `python -m scripts.widths`.

// First and last of each run, as differences: gap before it, then its length less one.
const NONE =
  "300 6f 114 6 108 2c 2 0 2 1 2 1 2 2 47 a 2 0 2f 14 11 0 66 6 3 5 3 1 2 3 24 0 " +
  "1f 1a 5c a 3b 8 a 0 19 3 2 8 2 2 2 4 2c 2 3c 8 2b 17 2 1f 38 0 2 0 5 7 5 0 " +
  "4 6 b 1 1e 0 3b 0 5 3 9 0 15 1 1b 0 3 1 3a 0 5 1 5 1 3 2 4 0 1f 1 4 0 " +
  "c 1 3a 0 5 4 2 1 5 0 15 1 17 5 2 0 3b 0 3 0 2 3 9 0 6 3 c 1 1f 0 3e 0 " +
  "d 0 33 0 4 0 38 0 2 2 6 2 2 3 8 1 c 1 1e 0 3b 0 3 0 7 0 6 1 15 1 1d 1 " +
  "3a 1 5 3 9 0 15 1 1e 0 49 0 8 2 2 0 5b 0 3 6 d 7 63 0 3 8 c 6 4a 1 1c 0 " +
  "2 0 2 0 38 d 2 4 2 1 6 a 2 23 a 0 67 3 2 5 2 1 3 1 1a 1 5 2 11 3 e 0 " +
  "3 1 7 0 10 0 c2 a0 15e 2 3b3 2 1e 1 1f 1 1f 1 41 1 2 6 9 0 3 a a 0 2e 4 76 1 " +
  "23 0 77 2 5 1 a 0 7 2 dc 1 3 0 3b 0 2 6 2 0 2 0 3 7 7 9 3 0 31 40 10 3 " +
  "31 0 2 4 2 0 6 0 29 8 d 1 21 3 3 1 2 2 39 0 2 1 4 0 2 2 3b 7 3 1 99 2 " +
  "2 c 2 6 5 0 7 0 4 1 c7 3f 20c 4 19 6 32 f 61 20 bff 2 8e 0 61 1f 22b 3 6c 1 ca 0 " +
  "750b 3 2 9 21 1 51 1 111 0 4 0 5 0 1a 1 6 0 98 1 1b 11 e 0 27 7 1a a 2f 2 31 0 " +
  "3 3 3 1 28 0 44 5 3 1 3 1 d 0 9 0 30 0 34 0 2 2 3 1 6 1 2 0 2b 1 9 0 " +
  "ef 0 3 0 5 0 2bc3 16 5 30 5 7ff 1b1f 0 2e2 f 11 f d0 0 a1 0 50 8 205 0 e3 0 96 4 687 2 " +
  "2 1 6 3 29 2 5 0 a6 1 23e 3 42 4 13e 1 1f 4 21 f 47 a 32 3 7c 0 37 e 2a 0 3 1 " +
  "b 2 32 3 3 1 8 0 3e 2 25 4 2 7 3f 0 d 1 35 8 b 3 3 0 60 2 3 0 2 1 7 0 " +
  "3 0 9e 0 4 7 16 1 3a 1 4 0 26 6 4 4 47 5 e 0 2 0 2 0 f 1 56 7 3 2 2 0 " +
  "18 0 55 5 2 0 5 1 2 1 ef 3 7 1 2 1 1c 1 56 7 3 0 2 1 6b 0 2 0 3 5 2 0 " +
  "66 0 2 0 3 3 2 4 104 8 2 1 101 1 2 0 5 0 91 3 3 1 5 0 21 9 29 5 3 3 9 0 " +
  "a 5 3 2 2f c 2 1 c7 0 2 2 2 0 ca 6 2 5 2 0 53 15 3 6 2 1 2 1 7b 5 4 0 " +
  "2 1 2 6 2 0 49 1 4 0 2 0 59 0 103 1 c 1 35 4 6 0 2 0 18 0 14e6 0 7 e 2cc9 b " +
  "4 2 9c1 4 3c 6 22d 0 4 3 1e5 0 40 3 52 0 4cb9 1 2 3 125d 2d 3 16 1e1 1 3f 2 a f 3 6 " +
  "1f 3 95 2 17 1 7a4 36 5 31 9 0 f 0 17 4 2 e 551 6 2 10 3 6 2 1 2 4 65 0 a1 6 " +
  "178 0 3e 3 1fd 3 ff 1 f4 0 3 0 8 1 6 0 1db 6 6e 6 c16b6 fff";

// First and last of each run, as differences: gap before it, then its length less one.
const TWO =
  "1100 5e 11bc 1 e 1 bf 3 4 0 3 0 20a 1 16 1 1b 7 11 b 2c 0 b 5 4 0 e 0 9 1 12 1 " +
  "6 1 9 0 6 0 16 0 8 1 2 0 5 0 3 0 8 0 5 1 1d 0 24 0 2 0 5 2 2 0 3e 2 " +
  "19 0 f 0 35c 1 34 0 5 0 2e5 1 45 19 2 58 d d5 1b 39 5 10 3 55 5 64 6 2a 2 32 2 29 " +
  "2 55 a 2f 2 27 9 723c 4 36 49a 1c 284 2ba3 215d 1ff 311 9 17 22 2 12 2 3 96 5f 80 6 6ffa 3 d 6 " +
  "a 1cda 25 21 60 72 e 391 f 32 1e1e 3 2 6 2 1 2 128 a 0 1e 2 3 0 f 4 8 18b 2005 56 a 16 " +
  "1c8e 0 cb 0 bf 0 3 9 14 0 38 1c e 2b 5 8 8 1 f 5 9b 20 d 8 2 45 2 15 d 2a 5 4 " +
  "d 10 4 0 4 46 2 0 2 ba 3 3e e 3 2 17 13 0 1b 1 e 0 57 54 31 45 7 0 4 2 3 4 " +
  "3 3 c 1 8 8 de 0 6 b 5 0 11c 2e 2 9 2 b8 71 c 4 46 2 0 4 11 2 c 4 b 506 fffd " +
  "3 fffd";

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
