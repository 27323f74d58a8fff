// The search box of a terminal. The box is there at once; what searches is fetched when it is first wanted.

import type { SearchAddon } from "@xterm/addon-search";
import type { Terminal as Xterm } from "@xterm/xterm";
import { h, icon } from "./dom.ts";
import { token } from "./theme.ts";

export class Find {
  private box: HTMLElement | null = null;
  private addon: SearchAddon | null = null;

  constructor(
    private readonly term: Xterm,
    private readonly screen: HTMLElement,
  ) {}

  open(): void {
    if (this.box) {
      this.box.querySelector("input")!.select();
      return;
    }
    const input = h("input", { type: "text", "aria-label": "Search this terminal", placeholder: "Search" });
    const count = h("span", { class: "count", "aria-live": "polite" });
    const decorations = {
      matchBackground: token("warn"),
      matchOverviewRuler: token("warn"),
      activeMatchBackground: token("you"),
      activeMatchColorOverviewRuler: token("you"),
    };
    let results: { dispose(): void } | null = null;
    const seek = async (back = false) => {
      const search = await this.load();
      if (!this.box) return;
      results ??= search.onDidChangeResults(({ resultIndex, resultCount }) => {
        count.textContent = resultCount ? `${resultIndex + 1} of ${resultCount}` : input.value ? "none" : "";
      });
      if (!input.value) search.clearDecorations();
      else if (back) search.findPrevious(input.value, { decorations });
      else search.findNext(input.value, { decorations });
    };
    const close = () => {
      results?.dispose();
      this.addon?.clearDecorations();
      this.box?.remove();
      this.box = null;
      this.term.focus();
    };
    input.addEventListener("input", () => void seek());
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") void seek(event.shiftKey);
      if (event.key === "Escape") {
        event.stopPropagation();
        close();
      }
    });
    const button = (label: string, name: string, run: () => void) =>
      h("button", { class: "plain", "aria-label": label, on: { click: run } }, icon(name));
    this.box = h(
      "div",
      { class: "find", role: "search" },
      input,
      count,
      button("Previous", "up", () => void seek(true)),
      button("Next", "down", () => void seek()),
      button("Close search", "close", close),
    );
    this.screen.append(this.box);
    input.focus();
  }

  private async load(): Promise<SearchAddon> {
    if (!this.addon) {
      const { SearchAddon } = await import("@xterm/addon-search");
      this.addon = new SearchAddon();
      this.term.loadAddon(this.addon);
    }
    return this.addon;
  }
}
