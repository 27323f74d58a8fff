// "Highlights (3)": what is marked, in this file first, to go to or to clear.

import type { Highlight } from "../wire/types.ts";
import type { Desk } from "./desk.ts";
import { h, icon } from "./dom.ts";

export class Peek {
  readonly element: HTMLElement;
  private readonly button = h("button", { class: "button small", "aria-expanded": "false" });
  private readonly list = h("ul", { "aria-label": "Highlights", hidden: true });

  constructor(
    private readonly desk: Desk,
    private readonly path: string,
    private readonly who: (mark: Highlight) => { name: string; color: string },
  ) {
    this.element = h("div", { class: "peek", hidden: true }, this.button, this.list);
    this.button.addEventListener("click", () => this.toggle());
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || this.list.hidden) return;
      event.stopPropagation(); // closes the list, clears nothing
      this.toggle(false);
      this.button.focus();
    });
  }

  open(): void {
    if (this.element.hidden) return;
    this.toggle(true);
    (this.list.querySelector<HTMLElement>("button") ?? this.button).focus();
  }

  render(): void {
    const all = [...this.desk.model.highlights.values()];
    const here = all.filter((mark) => mark.path === this.path).sort((a, b) => line(a) - line(b));
    const elsewhere = all.filter((mark) => mark.path !== this.path).sort((a, b) => a.path.localeCompare(b.path) || line(a) - line(b));
    this.element.hidden = here.length === 0;
    this.button.textContent = `Highlights (${here.length})`;
    if (this.element.hidden) this.toggle(false);
    const focused = this.list.contains(document.activeElement);
    this.list.replaceChildren(...[...here, ...elsewhere].map((mark) => this.row(mark)));
    if (focused && !this.list.hidden) (this.list.querySelector<HTMLElement>("button") ?? this.button).focus();
  }

  private toggle(on = this.list.hidden): void {
    this.list.hidden = !on;
    this.button.setAttribute("aria-expanded", String(on));
  }

  private row(mark: Highlight): HTMLElement {
    const { name, color } = this.who(mark);
    const first = mark.ranges[0]!;
    const lines = first.startLine === first.endLine ? `${first.startLine}` : `${first.startLine}–${first.endLine}`;
    const place = `${mark.path === this.path ? "" : `${mark.path.split("/").at(-1)}:`}${lines}${mark.ranges.length > 1 ? " …" : ""}`;
    const text = mark.label ?? (generated(mark) ? "" : mark.id);
    const go = h(
      "button",
      { class: "go", title: mark.path, on: { click: () => void this.desk.run("openspace.editor.open", { path: mark.path, line: first.startLine }) } },
      h("i", { style: `background:${color}` }),
      h("b", {}, place),
      h("span", {}, [name, text].filter(Boolean).join(": ")),
    );
    const clear = h(
      "button",
      { class: "plain", "aria-label": `Clear the highlight at ${place}`, on: { click: () => void this.desk.run("openspace.editor.clear_highlight", { highlightId: mark.id }) } },
      icon("close"),
    );
    return h("li", {}, go, clear);
  }
}

function line(mark: Highlight): number {
  return mark.ranges[0]?.startLine ?? 0;
}

// True if the name was generated.
export function generated(mark: Highlight): boolean {
  return /^[a-z]+_[0-9A-Z]{20,}$/.test(mark.id);
}
