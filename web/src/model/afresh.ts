// Back to an empty screen in its first state, with the scrollback left alone: what the server sends as a screen comes behind
// it. Row by row: erasing the whole screen at once would take the author marks along.
export const afresh = (rows: number): string =>
  "\x18\x1b[?1049l\x1b[?47h\x1b[!p\x1b[?47l\x1b[!p\x1b>\x1b[4;20l\x1b[0 q\x0f\x1b(B\x1b)B\x1b*B\x1b+B\x1b]8;;\x1b\\\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b]112\x1b\\" +
  "\x1b[?1;5;9;12;45;69;1000;1002;1003;1004;1005;1006;1015;1016;2004l\x1b[?7;25h\x1b[r" +
  Array.from({ length: rows }, (_, row) => `\x1b[${row + 1};1H\x1b[2K`).join("") +
  "\x1b[H";
