// Who is here: you, and the agents as far as there is room; the rest is behind a button that counts them and lists them all.

import type { Desk } from "./desk.ts";
import { h, listen } from "./dom.ts";

const MOST = 4;

export class Presence {
  readonly element: HTMLElement;
  private readonly pills = h("div", { class: "pills" });
  private readonly more = h("button", { class: "pill agent more", "aria-haspopup": "menu", "aria-expanded": "false", "aria-controls": "agents-menu" });
  private readonly menu = h("div", { class: "agentsmenu", id: "agents-menu", role: "menu", "aria-label": "Agents", hidden: true });
  private drawn = "";

  constructor(private readonly desk: Desk) {
    this.element = h("div", { class: "presence" }, this.pills, this.more, this.menu);
    this.more.addEventListener("click", () => this.toggle(Boolean(this.menu.hidden)));
    this.menu.addEventListener("keydown", (event) => this.key(event));
    listen("pointerdown", (event) => {
      if (event.target instanceof Node && !this.element.contains(event.target)) this.toggle(false, false);
    });
    this.menu.addEventListener("focusout", (event) => {
      if (event.relatedTarget instanceof Node && !this.element.contains(event.relatedTarget)) this.toggle(false, false);
    });
    listen("resize", () => this.render());
  }

  render(): void {
    const { model } = this.desk;
    const agents = [...model.agents.values()];
    const chosen = this.desk.agent();
    const key = JSON.stringify([innerWidth, model.browsers, chosen, model.workspace, agents.map((one) => [one.id, one.title || one.name, one.status, one.paused])]);
    if (key === this.drawn && this.element.isConnected) return;
    this.drawn = this.element.isConnected ? key : "";
    // The one whose buttons stand beside is always among those that are shown.
    const first = [...agents.filter((one) => one.id === chosen), ...agents.filter((one) => one.id !== chosen)];
    const you = h("span", { class: "pill", title: "Browsers with this page" }, model.browsers > 1 ? `You ×${model.browsers}` : "You");
    for (let count = Math.min(agents.length, agents.length > MOST ? MOST - 1 : MOST); count >= 0; count--) {
      const shown = new Set(first.slice(0, count));
      const pills = agents.filter((one) => shown.has(one)).map((one) => h("span", { class: "pill agent", title: `${one.name} (${one.connector})` }, one.title || one.name));
      const rest = agents.length - count;
      this.more.textContent = count ? `+${rest}` : `${rest} agents`;
      this.more.setAttribute("aria-label", count ? `${rest} more agents: list all ${agents.length}` : `List ${rest} agents`);
      this.more.hidden = rest === 0;
      this.pills.replaceChildren(you, ...pills);
      if (this.fits()) break;
    }
    if (this.more.hidden) this.toggle(false, false);
    else if (!this.menu.hidden) this.list();
  }

  private fits(): boolean {
    const bar = this.element.parentElement;
    return !bar || bar.scrollWidth <= bar.clientWidth;
  }

  private list(): void {
    const { model } = this.desk;
    const chosen = this.desk.agent();
    const at = [...this.menu.children].findIndex((one) => one === document.activeElement);
    this.menu.replaceChildren(
      ...[...model.agents.values()].map((one) =>
        h(
          "button",
          {
            role: "menuitemradio",
            tabindex: "-1",
            "aria-checked": String(one.id === chosen),
            on: { click: () => this.choose(one.id) },
          },
          h("span", { class: "name" }, one.name),
          h("span", { class: "note" }, one.paused ? "paused" : one.status),
        ),
      ),
    );
    if (at >= 0) this.focus(at);
  }

  private choose(id: string): void {
    this.toggle(false);
    this.desk.chosenAgent = id;
    this.desk.model.signals.fire(["agents", "chat"]);
  }

  private toggle(open: boolean, back = true): void {
    if (this.menu.hidden === !open) return;
    this.menu.hidden = !open;
    this.more.setAttribute("aria-expanded", String(open));
    if (open) {
      this.list();
      this.focus(Math.max(0, [...this.menu.children].findIndex((one) => one.getAttribute("aria-checked") === "true")));
    } else if (back) {
      this.more.focus();
    }
  }

  private focus(index: number): void {
    const items = this.menu.children;
    const item = items[(index + items.length) % items.length];
    if (item instanceof HTMLElement) item.focus();
  }

  private key(event: KeyboardEvent): void {
    const at = [...this.menu.children].findIndex((one) => one === document.activeElement);
    switch (event.key) {
      case "ArrowDown":
        this.focus(at + 1);
        break;
      case "ArrowUp":
        this.focus(at - 1);
        break;
      case "Home":
        this.focus(0);
        break;
      case "End":
        this.focus(-1);
        break;
      case "Escape":
        this.toggle(false);
        break;
      default:
        return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
