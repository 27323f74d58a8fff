// What the page needs of a code editor, apart from which one it is: Monaco today, another on phones perhaps one day.

import type { Range } from "../wire/types.ts";

export interface MarkStyle {
  color: string;
  label: string;
  hover: string;
}

export interface CodeEditor {
  text(): string;
  // Replace the text without losing the place or the way back.
  setText(text: string): void;
  // Scroll a line into the middle; waits for the first layout, before which there is no middle.
  reveal(line: number, column: number): void;
  decorate(id: string, ranges: readonly Range[], style: MarkStyle): void;
  clear(id: string): void;
  marks(): string[];
  visibleLines(): [number, number];
  // Another text beside this one, until it is taken away with null.
  compare(other: string | null): void;
  setReadOnly(readOnly: boolean): void;
  language(): string;
  focus(): void;
  hasFocus(): boolean;
  dispose(): void;
}

export interface CodeEvents {
  changed(): void; // by the person's hands only
  moved(line: number, column: number): void;
}
