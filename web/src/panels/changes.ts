// What agents wrote and the person has not looked through yet: a diff for each file, to keep or to take back.

import { type Line, diffLines } from "../model/diff.ts";
import type { FileChange } from "../wire/types.ts";
import type { Desk } from "./desk.ts";
import { debounce, h } from "./dom.ts";

export class Changes {
  readonly element = h("div", { class: "changes", hidden: true });
  onCount: (count: number) => void = () => {};
  private changes: FileChange[] = [];
  private readonly reload = debounce(() => void this.load(), 120);

  constructor(
    private readonly desk: Desk,
    private readonly openFile: (path: string) => void,
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
    if (this.element.hidden) return;
    if (this.changes.length === 0) {
      this.element.replaceChildren(h("div", { class: "empty" }, "Nothing that an agent wrote waits for you here."));
      return;
    }
    this.element.replaceChildren(...this.changes.map((change) => this.card(change)));
  }

  private card(change: FileChange): HTMLElement {
    const { path } = change;
    const act = (verb: "keep" | "revert") => async () => {
      const answer = await this.desk.run(`openspace.change.${verb}`, { path, version: change.version });
      if (answer.success) this.reload();
    };
    const lines = change.shown
      ? diffLines(change.before ?? "", change.after ?? "")
      : [{ kind: "skip" as const, text: "Binary, or too large to show." }];
    return h(
      "article",
      { class: "change", "aria-label": path },
      h(
        "header",
        {},
        h("button", { class: "link name", title: path, on: { click: () => this.openFile(path) } }, path),
        h("span", { class: "plus" }, `+${change.added}`),
        h("span", { class: "minus" }, `−${change.removed}`),
        h("button", { class: "button small", on: { click: () => void act("keep")() } }, "Keep"),
        h("button", { class: "button small bad", on: { click: () => void act("revert")() } }, "Revert"),
      ),
      h("div", { class: "diff", tabindex: "0", role: "region", "aria-label": `Changes in ${path}` }, ...lines.map(row)),
    );
  }
}

function row(line: Line): HTMLElement {
  const sign = { add: "+ ", del: "− ", same: "  ", skip: "" }[line.kind];
  return h("div", { class: line.kind }, sign + line.text);
}
