// The author marks beside a terminal's rows: who typed what led to them. With Alt held, the row under the pointer is
// explained in words.

import type { IMarker, Terminal as Xterm } from "@xterm/xterm";
import { Marks, type Placed, type Stretch, stretches } from "../model/ink.ts";
import type { AuthorSpan } from "../wire/types.ts";
import type { Desk } from "./desk.ts";
import { h, perFrame, setText } from "./dom.ts";

export class Gutter {
  readonly element = h("div", { class: "gutter", "aria-hidden": "true" });
  private readonly tip = h("div", { class: "inktip", role: "tooltip", hidden: true });
  private readonly marks = new Marks();
  private placed: Placed[] = [];
  private coming: AuthorSpan[] = []; // typed behind what is on the screen by now
  private seen = 0;
  private readonly paint = perFrame(() => this.draw());

  constructor(
    private readonly term: Xterm,
    private readonly terminal: string,
    private readonly desk: Desk,
    screen: HTMLElement,
  ) {
    term.onRender(this.paint);
    term.onScroll(this.paint);
    term.buffer.onBufferChange(this.paint);
    screen.prepend(this.element);
    screen.append(this.tip);
    screen.addEventListener("pointermove", (event) => this.point(event, screen));
    screen.addEventListener("pointerleave", () => (this.tip.hidden = true));
  }

  // The output up to this position is on the screen now: remember at which row.
  remember(position: number): void {
    this.seen = position;
    const last = this.marks.before(position);
    if (last?.row() !== this.row) {
      const row = this.here();
      if (row) this.marks.add({ position, row });
      this.marks.trim();
    }
    this.settle();
  }

  // An actor began to type where the screen's cursor is now.
  begin(ink: AuthorSpan): void {
    const row = this.here();
    if (row) this.placed.push({ ink, row });
  }

  // Ask the server who typed since; what is placed already keeps its row.
  async refresh(): Promise<void> {
    const last = () => this.coming.at(-1) ?? this.placed.at(-1)?.ink;
    const answer = await this.desk.link.call("openspace.terminal.authors", { terminalId: this.terminal, since: last()?.position ?? 0 });
    if (!answer.success) return;
    for (const ink of answer.ink) {
      const known = last();
      if (!known || ink.position > known.position || (ink.position === known.position && ink.time > known.time)) this.coming.push(ink);
    }
    this.settle();
    this.paint();
  }

  // The row of a place in the output is known when the output has come so far.
  private settle(): void {
    while (this.coming[0] && this.coming[0].position <= this.seen) {
      const ink = this.coming.shift()!;
      const mark = this.marks.before(ink.position);
      if (mark) this.placed.push({ ink, row: mark.row });
    }
  }

  private get row(): number {
    return this.term.buffer.active.baseY + this.term.buffer.active.cursorY;
  }

  private here(): (() => number) | null {
    if (this.term.buffer.active.type !== "normal") return null;
    const marker: IMarker | undefined = this.term.registerMarker(0);
    return marker ? () => marker.line : null;
  }

  private get rowHeight(): number {
    return (this.term.element?.querySelector<HTMLElement>(".xterm-screen")?.offsetHeight ?? 0) / this.term.rows;
  }

  private shown(): Stretch[] {
    const buffer = this.term.buffer.active;
    if (buffer.type !== "normal") return [];
    return stretches(this.placed, buffer.viewportY, buffer.viewportY + this.term.rows - 1, this.row);
  }

  private draw(): void {
    const { element } = this;
    const height = this.rowHeight;
    const rows = height > 0 ? this.shown() : [];
    const top = this.term.buffer.active.viewportY;
    while (element.childElementCount > rows.length) element.lastChild!.remove();
    while (element.childElementCount < rows.length) element.append(h("i"));
    rows.forEach((stretch, index) => {
      const bar = element.children[index] as HTMLElement;
      bar.className = stretch.other ? "mixed" : stretch.ink.kind;
      bar.style.top = `${(stretch.from - top) * height + 1}px`;
      bar.style.height = `${(stretch.to - stretch.from + 1) * height - 2}px`;
      bar.title = this.words(stretch);
    });
  }

  private words({ ink, other }: Stretch): string {
    const one = ({ kind, actor, time }: AuthorSpan) => {
      const who = kind === "agent" ? this.desk.model.title(actor) || "the agent" : "you";
      return `${who}, ${new Date(time * 1000).toLocaleTimeString()}`;
    };
    return other ? `${one(other)} and ${one(ink)}` : one(ink);
  }

  private point(event: PointerEvent, screen: HTMLElement): void {
    const box = this.term.element?.querySelector(".xterm-screen")?.getBoundingClientRect();
    const row = box && event.altKey ? Math.floor((event.clientY - box.top) / this.rowHeight) + this.term.buffer.active.viewportY : -1;
    const stretch = this.shown().find((one) => one.from <= row && row <= one.to);
    this.tip.hidden = !stretch;
    if (!stretch) return;
    setText(this.tip, `Typed by ${this.words(stretch)}`);
    const { left, top } = screen.getBoundingClientRect();
    this.tip.style.left = `${event.clientX - left + 12}px`;
    this.tip.style.top = `${event.clientY - top + 12}px`;
  }
}
