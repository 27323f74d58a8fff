// Who typed where, as rows of a terminal: ink begins at positions of the output, marks tie positions to rows.

import type { Ink } from "../wire/types.ts";

export interface Mark {
  position: number;
  row: () => number; // rows move when the scrollback is cut; -1 when it is gone
}

export interface Stretch {
  from: number;
  to: number; // last row, included
  ink: Ink;
}

const KEPT = 400;

// Remembers at which row the output stood at which position, one mark per row.
export class Marks {
  private marks: Mark[] = [];

  add(mark: Mark): boolean {
    const last = this.marks.at(-1);
    if (last && (last.position >= mark.position || last.row() === mark.row())) return false;
    this.marks.push(mark);
    return true;
  }

  clear(): void {
    this.marks = [];
  }

  // Marks that are no longer needed; the caller disposes of them.
  trim(): Mark[] {
    return this.marks.length > KEPT * 1.5 ? this.marks.splice(0, this.marks.length - KEPT) : [];
  }

  // The mark nearest before a position: where the row of that position begins.
  before(position: number): Mark | null {
    let low = 0;
    let high = this.marks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.marks[middle]!.position <= position) low = middle + 1;
      else high = middle;
    }
    return this.marks[low - 1] ?? null;
  }
}

export interface Placed {
  ink: Ink;
  row: () => number;
}

// The parts of the rows from `top` to `bottom` that have an author.
export function stretches(placed: readonly Placed[], top: number, bottom: number, last: number): Stretch[] {
  const found: Stretch[] = [];
  const known = placed.map((one) => ({ ink: one.ink, row: one.row() })).filter((one) => one.row >= 0);
  known.forEach((one, index) => {
    const end = (known[index + 1]?.row ?? last + 1) - 1;
    const from = Math.max(one.row, top);
    const to = Math.min(end, bottom);
    if (from <= to) found.push({ from, to, ink: one.ink });
  });
  return found;
}
