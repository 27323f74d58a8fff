// The frame around all panels: bars, sides, the dock in the middle, keys, and the narrow form.

import type { Desk } from "./desk.ts";
import { Dock } from "./dock.ts";
import { h } from "./dom.ts";
import { startCards } from "./start.ts";
import { StatusBar } from "./status.ts";
import { TerminalView } from "./terminal.ts";
import { TopBar } from "./topbar.ts";

export class Frame {
  readonly element: HTMLElement;
  readonly dock: Dock;
  private readonly status: StatusBar;

  constructor(desk: Desk) {
    const start = startCards({
      openFile: () => desk.openPalette(),
      newTerminal: () => void this.dock.newTerminal(),
    });
    this.dock = new Dock(desk, { terminal: (tab) => new TerminalView(tab, desk), editor: () => ({ element: h("div"), shown() {}, focus() {}, dispose() {} }) }, start);
    this.status = new StatusBar(desk, () => {});
    this.element = h(
      "div",
      { class: "page" },
      new TopBar(desk).element,
      this.status.lost,
      h("div", { class: "middle no-left no-right" }, this.dock.element),
      this.status.element,
    );
  }

  connected(): void {
    for (const view of this.dock.views.values()) if (view instanceof TerminalView) view.retry();
  }

  terminals(): Record<string, TerminalView> {
    const found: Record<string, TerminalView> = {};
    for (const view of this.dock.views.values()) if (view instanceof TerminalView) found[view.id] = view;
    return found;
  }

  editors(): Record<string, unknown> {
    return {};
  }
}
