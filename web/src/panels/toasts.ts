// Short messages at the foot of the page; the same one again becomes "×2". They never take the focus.

import { h, icon } from "./dom.ts";

export type Severity = "error" | "warning" | "info";

interface Shown {
  element: HTMLElement;
  count: HTMLElement;
  times: number;
  timer: ReturnType<typeof setTimeout>;
}

const MOST = 5;

export class Toasts {
  readonly element = h("div", { class: "toasts", role: "region", "aria-label": "Messages" });
  readonly life: Record<Severity, number> = { error: 12_000, warning: 7000, info: 4000 }; // in milliseconds
  private readonly shown = new Map<string, Shown>();

  constructor(private readonly warnings: () => boolean) {}

  show(text: string, hint = "", severity: Severity = "info", action?: { label: string; run: () => void }): void {
    if (severity === "warning" && !this.warnings()) return; // the setting notices.warnings
    const key = `${severity}:${text}`;
    const old = this.shown.get(key);
    if (old) {
      old.times++;
      old.count.textContent = `×${old.times}`;
      clearTimeout(old.timer);
      old.timer = this.expire(key, severity);
      return;
    }
    const count = h("span", { class: "count" });
    const element = h(
      "div",
      { class: `toast ${severity}`, role: severity === "error" ? "alert" : "status" },
      h("div", { class: "text" }, text, hint ? h("small", {}, hint) : null),
      count,
      action ? h("button", { class: "link", on: { click: () => (this.remove(key), action.run()) } }, action.label) : null,
      h("button", { class: "plain", "aria-label": "Dismiss", on: { click: () => this.remove(key) } }, icon("close")),
    );
    this.shown.set(key, { element, count, times: 1, timer: this.expire(key, severity) });
    this.element.append(element);
    for (const first of this.shown.keys()) {
      if (this.shown.size <= MOST) break;
      this.remove(first);
    }
  }

  // Not while a person is at it, with the pointer or the keyboard.
  private expire(key: string, severity: Severity): ReturnType<typeof setTimeout> {
    return setTimeout(() => {
      const one = this.shown.get(key);
      if (one?.element.matches(":hover, :focus-within")) one.timer = this.expire(key, severity);
      else this.remove(key);
    }, this.life[severity]);
  }

  private remove(key: string): void {
    const one = this.shown.get(key);
    if (!one) return;
    clearTimeout(one.timer);
    one.element.remove();
    this.shown.delete(key);
  }
}
