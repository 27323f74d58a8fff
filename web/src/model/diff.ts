// A file's two texts and the hunks in which they differ, as lines to show: each hunk with a little of what is around it.

import type { Hunk } from "../wire/types.ts";

export interface Line {
  kind: "same" | "add" | "del" | "skip";
  text: string;
}

export interface Part {
  hunk: number | null; // null: lines between hunks
  lines: Line[];
}

const AROUND = 3;
const LONGEST = 400; // letters of one line; minified files have all in one

export function diffParts(before: string, after: string, hunks: readonly Hunk[]): Part[] {
  const a = before.split("\n");
  const b = after.split("\n");
  const parts: Part[] = [];
  let at = 0; // next line of `a`
  const between = (end: number, first: boolean, last: boolean) => {
    const lines = a.slice(at, end).map((text): Line => ({ kind: "same", text: short(text) }));
    const head = first ? 0 : AROUND;
    const tail = last ? 0 : AROUND;
    const hidden = lines.length - head - tail;
    // One line is as short as the words that would stand for it.
    if (hidden > 1) lines.splice(head, hidden, { kind: "skip", text: `⋯ ${hidden} lines` });
    if (lines.length) parts.push({ hunk: null, lines });
  };
  hunks.forEach((hunk, index) => {
    between(hunk.beforeStart, index === 0, false);
    at = hunk.beforeStart + hunk.beforeLines;
    const removed = a.slice(hunk.beforeStart, at).map((text): Line => ({ kind: "del", text: short(text) }));
    const added = b
      .slice(hunk.afterStart, hunk.afterStart + hunk.afterLines)
      .map((text): Line => ({ kind: "add", text: short(text) }));
    parts.push({ hunk: index, lines: [...removed, ...added] });
  });
  // Behind the last line feed there is no line.
  between(a.at(-1) === "" ? a.length - 1 : a.length, hunks.length === 0, true);
  return parts;
}

function short(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)} ⋯` : text;
}

// A unified diff as lines, for texts that come as one.
export function unifiedLines(diff: string): Line[] {
  return diff.split("\n").map((text): Line => {
    if (text.startsWith("@@") || text.startsWith("+++") || text.startsWith("---")) return { kind: "skip", text };
    const kind = text.startsWith("+") ? "add" : text.startsWith("-") ? "del" : "same";
    return { kind, text: text.slice(1) };
  });
}
