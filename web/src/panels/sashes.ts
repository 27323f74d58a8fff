// The sashes between panes: dragged or moved by keys; one command is sent when it is over.

import { LEAST, moveSash, place, type Sash } from "../model/geometry.ts";
import type { Desk } from "./desk.ts";
import { h, setStyle } from "./dom.ts";

export interface SashHost {
  readonly element: HTMLElement;
  dragging: boolean;
  // Show these sizes until the server has said what became of them; null shows the server's.
  preview(split: string, sizes: number[] | null): void;
}

export class Sashes {
  private readonly elements = new Map<string, HTMLElement>();

  constructor(
    private readonly desk: Desk,
    private readonly host: SashHost,
  ) {}

  show(sashes: readonly Sash[]): void {
    for (const sash of sashes) this.put(sash);
    const live = new Set(sashes.map((sash) => sash.key));
    for (const [key, element] of this.elements) {
      if (live.has(key)) continue;
      this.elements.delete(key);
      element.remove();
    }
  }

  private put(sash: Sash): void {
    let element = this.elements.get(sash.key);
    if (!element) {
      element = h("div", {
        role: "separator",
        tabindex: "0",
        "aria-label": "Resize panes",
        "aria-valuemin": LEAST,
        "aria-valuemax": 100 - LEAST,
      });
      this.elements.set(sash.key, element);
      // Before the panes: in those, Tab is a letter.
      this.host.element.prepend(element);
      element.addEventListener("pointerdown", (event) => this.drag(event, sash.key));
      element.addEventListener("keydown", (event) => this.key(event, sash.key));
    }
    const { direction } = sash.split;
    const live = element.classList.contains("live");
    element.className = `sash ${direction}${live ? " live" : ""}`;
    // A separator is named after its own line: panes beside each other are divided by a vertical one.
    element.setAttribute("aria-orientation", direction);
    element.setAttribute("aria-valuenow", String(Math.round(sash.split.sizes[sash.index] ?? 0)));
    const { box, at } = sash;
    const across = direction === "vertical";
    setStyle(element, "left", `${across ? at : box.x}%`);
    setStyle(element, "top", `${across ? box.y : at}%`);
    setStyle(element, "height", across ? `${box.height}%` : "");
    setStyle(element, "width", across ? "" : `${box.width}%`);
  }

  private find(key: string): Sash | undefined {
    return place(this.desk.model.layout.root).sashes.find((one) => one.key === key);
  }

  private drag(event: PointerEvent, key: string): void {
    const sash = this.find(key);
    const element = this.elements.get(key);
    if (!sash || !element || event.button !== 0) return;
    event.preventDefault();
    element.focus();
    const baseRev = this.desk.model.rev;
    const area = this.host.element.getBoundingClientRect();
    const across = sash.split.direction === "vertical";
    const length = across ? (area.width * sash.box.width) / 100 : (area.height * sash.box.height) / 100;
    const begin = across ? event.clientX : event.clientY;
    let sizes: number[] | null = null;
    this.host.dragging = true;
    element.classList.add("live");
    document.body.classList.add("dragging");
    element.setPointerCapture(event.pointerId);
    const move = (to: PointerEvent) => {
      const delta = (((across ? to.clientX : to.clientY) - begin) / length) * 100;
      sizes = moveSash(sash.split, sash.index, delta, sash.box);
      this.host.preview(sash.split.id, sizes);
    };
    const done = () => {
      element.removeEventListener("pointermove", move);
      element.classList.remove("live");
      document.body.classList.remove("dragging");
      this.host.dragging = false;
      if (sizes) void this.send(sash.split.id, sizes, baseRev);
      else this.host.preview(sash.split.id, null);
    };
    element.addEventListener("pointermove", move);
    element.addEventListener("pointerup", done, { once: true });
    element.addEventListener("pointercancel", () => ((sizes = null), done()), { once: true });
  }

  private async send(split: string, sizes: number[], baseRev: number): Promise<void> {
    this.host.preview(split, sizes);
    await this.desk.run("openspace.pane.set_sizes", { split, sizes, baseRev });
    this.host.preview(split, null);
  }

  private key(event: KeyboardEvent, key: string): void {
    const sash = this.find(key);
    if (!sash) return;
    const across = sash.split.direction === "vertical";
    const less = across ? "ArrowLeft" : "ArrowUp";
    const more = across ? "ArrowRight" : "ArrowDown";
    if (event.key !== less && event.key !== more) return;
    event.preventDefault();
    const step = (event.shiftKey ? 10 : 2) * (event.key === less ? -1 : 1);
    void this.send(sash.split.id, moveSash(sash.split, sash.index, step, sash.box), this.desk.model.rev);
  }
}
