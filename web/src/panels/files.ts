// The workspace's files as a tree; a directory is read when it is opened.

import type { DirectoryEntry } from "../wire/types.ts";
import type { Desk } from "./desk.ts";
import { debounce, h, icon, place } from "./dom.ts";

interface RowState {
  expanded: boolean;
  current: boolean;
  open: boolean;
  byAgent: boolean;
  dirty: boolean;
}

export class Files {
  readonly element: HTMLElement;
  private readonly tree = h("div", { class: "tree", role: "tree", "aria-label": "Files" });
  private readonly open = new Set<string>();
  private drawn = new Map<string, { state: string; row: HTMLElement }>();
  private readonly listed = new Map<string, readonly DirectoryEntry[]>();
  private readonly again = debounce(() => void this.refresh(), 200);

  constructor(
    private readonly desk: Desk,
    private readonly openFile: (path: string) => void,
  ) {
    const reload = h("button", { title: "Refresh", "aria-label": "Refresh files", on: { click: () => void this.refresh() } }, icon("refresh"));
    this.element = h(
      "nav",
      { "aria-label": "Workspace files", style: "display:contents" },
      h("div", { class: "caption" }, "Files", reload),
      this.tree,
    );
    desk.model.signals.on("files", () => this.again());
    desk.model.signals.on(["editors", "layout", "agents"], () => this.render());
    this.tree.addEventListener("keydown", (event) => this.key(event));
  }

  async refresh(): Promise<void> {
    await Promise.all([".", ...this.open].map((path) => this.read(path)));
    this.render();
  }

  private async read(path: string): Promise<void> {
    const answer = await this.desk.link.call("openspace.file.list", { path });
    if (answer.success) {
      const rank = (entry: DirectoryEntry) => (entry.kind === "directory" ? 0 : 1);
      this.listed.set(path, [...answer.files].sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name)));
    } else {
      this.listed.delete(path);
      this.open.delete(path);
    }
  }

  private render(): void {
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.path : undefined;
    const rows: HTMLElement[] = [];
    const before = this.drawn;
    this.drawn = new Map();
    this.rows(".", 0, rows, before);
    // A row that is the same stays the same element: one that goes while it is pressed would take the click along.
    place(this.tree, rows);
    const selected = rows.find((row) => row.dataset.path === focused);
    for (const row of rows) row.tabIndex = -1;
    (selected ?? rows[0])?.setAttribute("tabindex", "0");
    if (focused !== undefined) selected?.focus();
  }

  private rows(path: string, depth: number, rows: HTMLElement[], before: Files["drawn"]): void {
    const { model } = this.desk;
    const activePath = model.layout.activePane;
    for (const entry of this.listed.get(path) ?? []) {
      const directory = entry.kind === "directory";
      const expanded = this.open.has(entry.path);
      const editor = model.editors.get(entry.path);
      const byAgent = editor !== undefined && model.agents.has(editor.owner);
      const current = editor !== undefined && activePath !== null;
      const look: RowState = { expanded, current, open: editor !== undefined, byAgent, dirty: editor?.dirty ?? false };
      const state = JSON.stringify([entry.kind, depth, look]);
      const old = before.get(entry.path);
      const row = old?.state === state ? old.row : this.row(entry, depth, look);
      this.drawn.set(entry.path, { state, row });
      rows.push(row);
      if (directory && expanded) this.rows(entry.path, depth + 1, rows, before);
    }
  }

  private row(entry: DirectoryEntry, depth: number, state: RowState): HTMLElement {
    const directory = entry.kind === "directory";
    return h(
      "div",
      {
        class: `entry${state.current ? " current" : ""}${entry.name.startsWith(".") ? " hiddenfile" : ""}`,
        role: "treeitem",
        "aria-level": depth + 1,
        "aria-expanded": directory ? String(state.expanded) : undefined,
        "aria-selected": String(state.open),
        "data-path": entry.path,
        "data-kind": entry.kind,
        style: `padding-left:${14 + depth * 14}px`,
        title: entry.path,
        on: { click: () => void this.activate(entry.path, directory) },
      },
      h("span", { class: "twist" }, directory ? icon(state.expanded ? "down" : "right") : null),
      h("span", { class: "name" }, entry.name),
      state.byAgent ? h("span", { class: "mark", title: "The agent has it open" }, "●") : null,
      state.dirty ? h("span", { class: "mark", title: "Not saved" }, "M") : null,
    );
  }

  private async activate(path: string, directory: boolean): Promise<void> {
    if (!directory) {
      this.openFile(path);
      return;
    }
    if (this.open.delete(path)) {
      this.render();
      return;
    }
    this.open.add(path);
    await this.read(path);
    this.render();
  }

  private key(event: KeyboardEvent): void {
    const rows = [...this.tree.children] as HTMLElement[];
    const at = rows.indexOf(document.activeElement as HTMLElement);
    const row = rows[at];
    if (!row) return;
    const path = row.dataset.path!;
    const directory = row.dataset.kind === "directory";
    const go = (to: HTMLElement | undefined) => {
      if (!to) return;
      row.tabIndex = -1;
      to.tabIndex = 0;
      to.focus();
    };
    switch (event.key) {
      case "ArrowDown":
        go(rows[at + 1]);
        break;
      case "ArrowUp":
        go(rows[at - 1]);
        break;
      case "ArrowRight":
        if (directory && !this.open.has(path)) void this.activate(path, true);
        else go(rows[at + 1]);
        break;
      case "ArrowLeft":
        if (directory && this.open.has(path)) void this.activate(path, true);
        else go(rows.find((one) => one.dataset.path === path.split("/").slice(0, -1).join("/")));
        break;
      case "Enter":
      case " ":
        void this.activate(path, directory);
        break;
      default:
        return;
    }
    event.preventDefault();
  }
}
