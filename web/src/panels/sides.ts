// The two sides of the page: how wide they are, whether they are shown; this browser's own affair. Where there is no room
// for three columns, the left one is a drawer over the middle, which closes when something else is wanted.

import { h } from "./dom.ts";

type Side = "left" | "right";

const DEFAULT: Record<Side, number> = { left: 196, right: 336 };
const LEAST = 140;

export class Sides {
  private readonly cramped = matchMedia("(min-width: 700px) and (max-width: 899px)");

  constructor(
    private readonly middle: HTMLElement,
    private readonly left: HTMLElement,
  ) {
    left.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.closeDrawer();
    });
    middle.addEventListener("pointerdown", (event) => {
      if (!left.contains(event.target as Node)) this.closeDrawer();
    });
    for (const side of ["left", "right"] as const) {
      this.setWidth(side, Number(localStorage.getItem(`fourhands.${side}`)) || DEFAULT[side]);
      middle.classList.toggle(`no-${side}`, localStorage.getItem(`fourhands.${side}.hidden`) === "1");
      middle.append(this.edge(side));
    }
  }

  shown(side: Side): boolean {
    const { classList } = this.middle;
    return this.drawer(side) ? classList.contains("drawer") : !classList.contains(`no-${side}`);
  }

  closeDrawer(): void {
    this.middle.classList.remove("drawer");
  }

  private drawer(side: Side): boolean {
    return side === "left" && this.cramped.matches;
  }

  toggle(side: Side, on = !this.shown(side)): void {
    if (this.drawer(side)) {
      this.middle.classList.toggle("drawer", on);
      if (on) this.left.querySelector<HTMLElement>("[tabindex='0']")?.focus();
      return;
    }
    this.middle.classList.toggle(`no-${side}`, !on);
    if (on) localStorage.removeItem(`fourhands.${side}.hidden`);
    else localStorage.setItem(`fourhands.${side}.hidden`, "1");
  }

  private width(side: Side): number {
    return Number.parseFloat(this.middle.style.getPropertyValue(`--${side}`)) || DEFAULT[side];
  }

  private setWidth(side: Side, width: number): void {
    const most = Math.max(LEAST, innerWidth * 0.45);
    this.middle.style.setProperty(`--${side}`, `${Math.round(Math.min(Math.max(width, LEAST), most))}px`);
  }

  private keep(side: Side): void {
    localStorage.setItem(`fourhands.${side}`, String(this.width(side)));
  }

  private edge(side: Side): HTMLElement {
    const sign = side === "left" ? 1 : -1;
    const element = h("div", {
      class: `edge ${side}`,
      role: "separator",
      tabindex: "0",
      "aria-orientation": "vertical",
      "aria-label": side === "left" ? "Width of the files" : "Width of the agent's pane",
      "aria-valuenow": DEFAULT[side],
      style: side === "left" ? "left:calc(var(--left) - 4px)" : "right:calc(var(--right) - 4px)",
    });
    element.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      const begin = event.clientX;
      const width = this.width(side);
      element.setPointerCapture(event.pointerId);
      const move = (to: PointerEvent) => this.setWidth(side, width + sign * (to.clientX - begin));
      element.addEventListener("pointermove", move);
      element.addEventListener(
        "pointerup",
        () => {
          element.removeEventListener("pointermove", move);
          this.keep(side);
        },
        { once: true },
      );
    });
    element.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -16, ArrowRight: 16 }[event.key];
      if (!step) return;
      event.preventDefault();
      this.setWidth(side, this.width(side) + sign * step);
      element.setAttribute("aria-valuenow", String(this.width(side)));
      this.keep(side);
    });
    return element;
  }
}
