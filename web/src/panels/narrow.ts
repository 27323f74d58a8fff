// Under 700 pixels: one thing at a time with tabs at the bottom, and keys that a phone's keyboard has not.

import type { Dock } from "./dock.ts";
import { h } from "./dom.ts";
import { TerminalView } from "./terminal.ts";

export type Place = "files" | "editor" | "terminal" | "agent";

const NAMES: [Place, string][] = [
  ["files", "Files"],
  ["editor", "Editor"],
  ["terminal", "Terminal"],
  ["agent", "Agent"],
];

const KEYS: [string, string][] = [
  ["Esc", "\x1b"],
  ["Tab", "\t"],
  ["↑", "\x1b[A"],
  ["↓", "\x1b[B"],
  ["←", "\x1b[D"],
  ["→", "\x1b[C"],
];

export class Narrow {
  readonly tabs = h("div", { class: "bottomtabs", role: "tablist", "aria-label": "What to show" });
  readonly keys = h("div", { class: "keybar", role: "toolbar", "aria-label": "Keys" });
  readonly query = matchMedia("(max-width: 699px)");
  private place: Place = "agent";
  private readonly ctrl = h("button", { "aria-pressed": "false" }, "Ctrl");

  constructor(
    private readonly middle: HTMLElement,
    private readonly dock: Dock,
  ) {
    for (const [place, name] of NAMES) {
      this.tabs.append(h("button", { role: "tab", "data-place": place, on: { click: () => this.show(place) } }, name));
    }
    this.ctrl.addEventListener("click", () => this.setCtrl(this.ctrl.getAttribute("aria-pressed") !== "true"));
    this.keys.append(
      this.ctrl,
      ...KEYS.map(([name, data]) => h("button", { on: { click: () => this.press(data) } }, name)),
    );
    // With Ctrl held, the next letter is a control character.
    addEventListener(
      "beforeinput",
      (event) => {
        if (this.ctrl.getAttribute("aria-pressed") !== "true" || !event.data) return;
        const code = event.data.toUpperCase().charCodeAt(0);
        if (code < 64 || code > 95) return;
        event.preventDefault();
        this.setCtrl(false);
        this.press(String.fromCharCode(code - 64));
      },
      { capture: true },
    );
    this.query.addEventListener("change", () => this.show(this.place));
    this.apply();
  }

  onShow: () => void = () => {};

  show(place: Place): void {
    this.place = place;
    this.apply();
    this.onShow();
  }

  get shown(): Place | null {
    return this.query.matches ? this.place : null;
  }

  private setCtrl(on: boolean): void {
    this.ctrl.setAttribute("aria-pressed", String(on));
  }

  private press(data: string): void {
    const tab = this.dock.active();
    const view = tab && this.dock.view(tab.type, tab.content);
    const shown = view instanceof TerminalView ? view : [...this.dock.views.values()].find((one) => one instanceof TerminalView && !one.element.classList.contains("hidden"));
    if (shown instanceof TerminalView) {
      shown.press(data);
      shown.focus();
    }
  }

  private apply(): void {
    const narrow = this.query.matches;
    this.middle.dataset.show = this.place;
    for (const tab of this.tabs.children) {
      tab.setAttribute("aria-selected", String((tab as HTMLElement).dataset.place === this.place));
    }
    this.keys.classList.toggle("shown", narrow && this.place === "terminal");
    this.dock.narrow = narrow && (this.place === "editor" || this.place === "terminal") ? this.place : "";
    this.dock.render();
  }
}
