// The author marks beside a terminal's rows: who typed what led to them.

import type { IMarker, Terminal as Xterm } from "@xterm/xterm";
import { Marks, type Placed, stretches } from "../model/ink.ts";
import type { Desk } from "./desk.ts";
import { h, perFrame } from "./dom.ts";

export class Gutter {
  readonly element = h("div", { class: "gutter", "aria-hidden": "true" });
  private readonly marks = new Marks();
  private placed: Placed[] = [];
  private readonly paint = perFrame(() => this.draw());

  constructor(
    private readonly term: Xterm,
    private readonly terminal: string,
    private readonly desk: Desk,
  ) {
    term.onRender(this.paint);
    term.onScroll(this.paint);
    term.buffer.onBufferChange(this.paint);
  }

  clear(): void {
    this.marks.clear();
    this.placed = [];
  }

  // The output up to this position is on the screen now: remember at which row.
  remember(position: number): void {
    if (this.term.buffer.active.type !== "normal") return;
    const line = this.term.buffer.active.baseY + this.term.buffer.active.cursorY;
    const last = this.marks.before(position);
    if (last && last.row() === line) return;
    const marker: IMarker | undefined = this.term.registerMarker(0);
    if (marker) this.marks.add({ position, row: () => marker.line });
    this.marks.trim();
  }

  // Ask the server who typed where; what is placed already keeps its row.
  async refresh(): Promise<void> {
    const answer = await this.desk.link.call("openspace.terminal.authors", { terminalId: this.terminal });
    if (!answer.success) return;
    const kept = new Map(this.placed.map((one) => [one.ink.position, one]));
    this.placed = answer.ink.flatMap((ink) => {
      const old = kept.get(ink.position);
      if (old && old.ink.kind === ink.kind) return [old];
      const mark = this.marks.before(ink.position);
      return mark ? [{ ink, row: mark.row }] : [];
    });
    this.paint();
  }

  private draw(): void {
    const { term, element } = this;
    const buffer = term.buffer.active;
    const height = (term.element?.querySelector<HTMLElement>(".xterm-screen")?.offsetHeight ?? 0) / term.rows;
    const rows =
      buffer.type === "normal" && height > 0
        ? stretches(this.placed, buffer.viewportY, buffer.viewportY + term.rows - 1, buffer.baseY + buffer.cursorY)
        : [];
    while (element.childElementCount > rows.length) element.lastChild!.remove();
    while (element.childElementCount < rows.length) element.append(h("i"));
    rows.forEach((stretch, index) => {
      const bar = element.children[index] as HTMLElement;
      bar.className = stretch.ink.kind;
      bar.style.top = `${(stretch.from - buffer.viewportY) * height + 1}px`;
      bar.style.height = `${(stretch.to - stretch.from + 1) * height - 2}px`;
      const who = stretch.ink.kind === "agent" ? this.desk.model.title(stretch.ink.actor) || "the agent" : "you";
      bar.title = `${who}, ${new Date(stretch.ink.time * 1000).toLocaleTimeString()}`;
    });
  }
}
