// What agents wrote and the person has not looked through yet: a diff for each file, to keep or to take back, whole or
// hunk by hunk.

import { diffParts, type Part } from "../model/diff.ts";
import type { FileChange } from "../wire/types.ts";
import { compare } from "./compare.ts";
import type { Desk } from "./desk.ts";
import { debounce, h } from "./dom.ts";
import { diffRow } from "./refusal.ts";

type Verb = "keep" | "revert";

export class Changes {
  readonly element = h("div", { class: "changes", hidden: true });
  onCount: (count: number) => void = () => {};
  private changes: readonly FileChange[] = [];
  private drawn = "";
  private readonly reload = debounce(() => void this.load(), 120);

  constructor(
    private readonly desk: Desk,
    private readonly openFile: (path: string, line?: number) => void,
  ) {}

  // Something may have changed.
  stale(): void {
    if (this.desk.model.commands.has("openspace.change.list")) this.reload();
  }

  shown(): void {
    this.stale();
    this.draw();
  }

  private async load(): Promise<void> {
    const answer = await this.desk.link.call("openspace.change.list", {});
    if (!answer.success) return;
    this.changes = answer.changes;
    this.onCount(this.changes.length);
    this.draw();
  }

  private draw(): void {
    const state = JSON.stringify(this.changes.map(({ path, version, hunks, before }) => [path, version, hunks.length, before?.length]));
    if (this.element.hidden || state === this.drawn) return;
    this.drawn = state;
    const focused = document.activeElement?.closest<HTMLElement>("[data-focus]")?.dataset.focus;
    if (this.changes.length === 0) {
      this.element.replaceChildren(h("div", { class: "empty", tabindex: "-1" }, "No changes to review"));
    } else {
      this.element.replaceChildren(...this.changes.map((change) => this.card(change)));
    }
    // A person who goes through the hunks by keyboard finds the next one under their hands.
    if (focused) (this.element.querySelector<HTMLElement>(`[data-focus="${CSS.escape(focused)}"]`) ?? this.element.querySelector<HTMLElement>("button, .empty"))?.focus();
  }

  private async settle(verb: Verb, change: FileChange, hunk?: number): Promise<void> {
    const { path, version } = change;
    const answer = await this.desk.run(`openspace.change.${verb}`, { path, version, ...(hunk === undefined ? {} : { hunk }) });
    this.reload();
    if (answer.success) this.desk.announce(`${verb === "keep" ? "Kept" : "Took back"} ${hunk === undefined ? path : `a change in ${path}`}`);
  }

  private card(change: FileChange): HTMLElement {
    const { path, hunks } = change;
    const act = (verb: Verb) => () => void this.settle(verb, change);
    const parts = change.shown ? diffParts(change.before ?? "", change.after ?? "", hunks) : [];
    const beside = h("button", { class: "button small", title: "Both texts side by side" }, "Open");
    beside.addEventListener("click", () => {
      void compare(path, change.before ?? "", change.after ?? "", [
        { label: "Keep", value: "keep", style: "main" },
        { label: "Take back", value: "revert", style: "bad" },
      ]).then((verb) => {
        if (verb === "keep" || verb === "revert") act(verb)();
      });
    });
    return h(
      "article",
      { class: "change", "aria-label": path },
      h(
        "header",
        {},
        h("button", { class: "link name", title: path, on: { click: () => this.openFile(path) } }, h("bdi", {}, path)),
        h("span", { class: "plus" }, `+${change.added}`),
        h("span", { class: "minus" }, `−${change.removed}`),
        h(
          "span",
          { class: "acts" },
          change.shown ? beside : null,
          h("button", { class: "button small", "data-focus": `keep ${path}`, on: { click: act("keep") } }, "Keep"),
          h("button", { class: "button small bad", "data-focus": `revert ${path}`, on: { click: act("revert") } }, "Take back"),
        ),
      ),
      h(
        "div",
        { class: "diff", tabindex: "0", role: "region", "aria-label": `Changes in ${path}` },
        ...(change.shown ? parts.map((part) => this.part(change, part)) : [diffRow({ kind: "skip", text: "Binary, or too large to show." })]),
      ),
    );
  }

  private part(change: FileChange, part: Part): HTMLElement {
    const rows = part.lines.map(diffRow);
    const { hunk } = part;
    // A file that is new has one hunk, which is the file.
    if (hunk === null || change.before === null || change.hunks.length < 2) return h("div", {}, ...rows);
    const line = (change.hunks[hunk]?.afterStart ?? 0) + 1;
    const button = (verb: Verb, label: string) =>
      h(
        "button",
        { class: "link", "data-focus": `${verb} ${change.path}`, "aria-label": `${label} the change at line ${line}`, on: { click: () => void this.settle(verb, change, hunk) } },
        label,
      );
    return h(
      "div",
      { class: "hunk" },
      h(
        "div",
        { class: "hunkbar" },
        h("button", { class: "link", on: { click: () => this.openFile(change.path, line) } }, `Line ${line}`),
        button("keep", "Keep"),
        button("revert", "Take back"),
      ),
      ...rows,
    );
  }
}
