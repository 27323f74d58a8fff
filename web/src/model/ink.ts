// Who typed where, as rows of a terminal: ink begins at positions of the output, marks tie positions to rows.

import type { AuthorSpan } from "../wire/types.ts";

export interface Mark {
  position: number;
  row: () => number; // rows move when the scrollback is cut; -1 when it is gone
}

export interface Stretch {
  from: number;
  to: number; // last row, included
  ink: AuthorSpan;
  other?: AuthorSpan; // of another kind, typed in the same row
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
  ink: AuthorSpan;
  row: () => number;
}

// The parts of the rows from `top` to `bottom` that have an author; a row in which both typed is a part of its own.
export function stretches(placed: readonly Placed[], top: number, bottom: number, last: number): Stretch[] {
  const found: Stretch[] = [];
  const add = (from: number, to: number, ink: AuthorSpan, other?: AuthorSpan) => {
    const part = { from: Math.max(from, top), to: Math.min(to, bottom), ink, ...(other ? { other } : {}) };
    if (part.from <= part.to) found.push(part);
  };
  const known = placed.map((one) => ({ ink: one.ink, row: one.row() })).filter((one) => one.row >= 0);
  known.forEach(({ ink, row }, index) => {
    const next = known[index + 1]?.row ?? last + 1;
    if (next <= row) return; // the last one of a row speaks for it
    const other = known.slice(0, index).findLast((one) => one.row === row && one.ink.kind !== ink.kind);
    if (other) add(row, row, ink, other.ink);
    add(other ? row + 1 : row, next - 1, ink);
  });
  return found;
}
