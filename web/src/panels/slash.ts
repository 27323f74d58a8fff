// Commands that an agent offers, while a person writes to it: a slash lists them, a choice is put into the box.

import type { Offer } from "../model/offers.ts";
import { matching } from "../model/offers.ts";
import { h } from "./dom.ts";

export class Slash {
  readonly element = h("ul", { class: "slash", id: "slash", role: "listbox", "aria-label": "Commands of the agent", hidden: true });
  private shown: Offer[] = [];
  private at = 0;

  constructor(
    private readonly box: HTMLTextAreaElement,
    private readonly offers: () => readonly Offer[],
    private readonly announce: (text: string) => void,
  ) {
    box.setAttribute("aria-autocomplete", "list");
    box.setAttribute("aria-controls", this.element.id);
    box.addEventListener("input", () => this.update());
    box.addEventListener("blur", () => this.close());
    // Before the box loses the keyboard by the press.
    this.element.addEventListener("mousedown", (event) => event.preventDefault());
  }

  // Whether the key was ours.
  key(event: KeyboardEvent): boolean {
    if (this.element.hidden) return false;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") this.go(this.at + (event.key === "ArrowDown" ? 1 : -1));
    else if (event.key === "Enter" || event.key === "Tab") this.choose(this.shown[this.at]!);
    else if (event.key === "Escape") this.close();
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  private update(): void {
    const found = matching(this.offers(), this.box.value);
    if (found.length === 0) return this.close();
    const opened = this.element.hidden;
    this.shown = found;
    this.element.replaceChildren(
      ...found.map((offer, index) =>
        h(
          "li",
          { role: "option", id: `slash-${index}`, title: offer.description, on: { click: () => this.choose(offer) } },
          h("code", {}, `/${offer.name}`),
          offer.hint ? h("span", { class: "hint" }, offer.hint) : null,
          h("span", { class: "what" }, offer.description),
        ),
      ),
    );
    this.element.hidden = false;
    this.go(0);
    if (opened) this.announce(`${found.length} commands of the agent: arrow keys choose, Enter takes one`);
  }

  private go(to: number): void {
    this.at = (to + this.shown.length) % this.shown.length;
    for (const [index, row] of [...this.element.children].entries()) {
      row.setAttribute("aria-selected", String(index === this.at));
      if (index === this.at) row.scrollIntoView({ block: "nearest" });
    }
    this.box.setAttribute("aria-activedescendant", `slash-${this.at}`);
  }

  private choose(offer: Offer): void {
    this.box.value = `/${offer.name} `;
    this.close();
    this.box.focus();
  }

  private close(): void {
    this.element.hidden = true;
    this.box.removeAttribute("aria-activedescendant");
  }
}
