// What agents changed and the person has not looked through yet, by turn: a diff for each file, to keep or to take back,
// whole or hunk by hunk, and the turn as a whole. What their programs changed is listed like what they wrote.

import { diffParts, type Part } from "../model/diff.ts";
import type { FileChange, HostTraffic, Turn, TurnUndone } from "../wire/types.ts";
import { compare } from "./compare.ts";
import type { Desk } from "./desk.ts";
import { ask, show } from "./dialog.ts";
import { debounce, h } from "./dom.ts";
import { size } from "./question.ts";
import { diffRow } from "./refusal.ts";

type Verb = "keep" | "revert";

export class Changes {
  readonly element = h("div", { class: "changes", hidden: true });
  onCount: (count: number) => void = () => {};
  private changes: readonly FileChange[] = [];
  private turns: readonly Turn[] = [];
  private unavailable = "";
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
    this.turns = answer.turns;
    this.unavailable = answer.unavailable;
    this.onCount(this.changes.length);
    this.draw();
  }

  private draw(): void {
    const state = JSON.stringify([this.changes.map(({ path, version, hunks, before, turn, by }) => [path, version, hunks.length, before?.length, turn, by]), this.turns, this.unavailable]);
    if (this.element.hidden || state === this.drawn) return;
    this.drawn = state;
    const focused = document.activeElement?.closest<HTMLElement>("[data-focus]")?.dataset.focus;
    const notes = this.notes();
    const groups = this.groups();
    if (groups.length === 0) groups.push(h("div", { class: "empty", tabindex: "-1" }, "No changes to review"));
    this.element.replaceChildren(...notes, ...groups);
    // A person who goes through the hunks by keyboard finds the next one under their hands.
    if (focused) (this.element.querySelector<HTMLElement>(`[data-focus="${CSS.escape(focused)}"]`) ?? this.element.querySelector<HTMLElement>("button, .empty"))?.focus();
  }

  private async settle(verb: Verb, change: FileChange, hunk?: number): Promise<void> {
    const { path, version } = change;
    const answer = await this.desk.run(`openspace.change.${verb}`, { path, version, ...(hunk === undefined ? {} : { hunk }) });
    this.reload();
    if (answer.success) this.desk.announce(`${verb === "keep" ? "Kept" : "Took back"} ${hunk === undefined ? path : `a change in ${path}`}`);
  }

  // Why something could not be taken back as a turn, said before anyone needs it.
  private notes(): HTMLElement[] {
    if (this.unavailable) return [h("p", { class: "nocheckpoint" }, `No checkpoints: ${this.unavailable}. What commands change cannot be undone as a turn.`)];
    const missing = this.turns.filter((turn) => turn.missing && !this.changes.some((change) => change.turn === turn.id));
    return missing.map((turn) => h("p", { class: "nocheckpoint" }, `${nameOf(turn)}: ${turn.missing}`));
  }

  // The newest turn first, then what belongs to none; files that run by themselves apart from the rest.
  private groups(): HTMLElement[] {
    const known = new Map(this.turns.map((turn) => [turn.id, turn]));
    const byTurn = new Map<string, FileChange[]>();
    for (const change of this.changes) {
      const key = known.has(change.turn) ? change.turn : "";
      byTurn.set(key, [...(byTurn.get(key) ?? []), change]);
    }
    // A turn that changed no file may have sent something away.
    for (const turn of this.turns) if (turn.status === "open" && !byTurn.has(turn.id) && turn.hosts.some(toReview)) byTurn.set(turn.id, []);
    const ids = [...byTurn.keys()].sort((one, other) => (known.get(other)?.started ?? 0) - (known.get(one)?.started ?? 0));
    return ids.map((id) => this.group(known.get(id), byTurn.get(id) ?? []));
  }

  private group(turn: Turn | undefined, changes: FileChange[]): HTMLElement {
    const apart = changes.filter((change) => change.runsByItself);
    const cards = changes.filter((change) => !change.runsByItself).map((change) => this.card(change));
    const warned = apart.length
      ? [
          h(
            "div",
            { class: "selfrunning", role: "group", "aria-label": "Runs by itself" },
            h("p", {}, h("strong", {}, "Runs by itself"), " when you open or enter the workspace:"),
            ...apart.map((change) => this.card(change)),
          ),
        ]
      : [];
    if (!turn) return h("section", { class: "turn" }, ...warned, ...cards);
    return h("section", { class: "turn", "aria-label": nameOf(turn) }, this.turnBar(turn), ...warned, ...cards);
  }

  private turnBar(turn: Turn): HTMLElement {
    const undo = h("button", { class: "button small", "data-focus": `undo ${turn.id}`, on: { click: () => void this.undoTurn(turn) } }, "Undo turn");
    const bare = !this.changes.some((change) => change.turn === turn.id);
    const keep = h("button", { class: "button small", "data-focus": `keepall ${turn.id}`, on: { click: () => void this.keepTurn(turn) } }, bare ? "Seen" : "Keep all");
    const bar = h("header", { class: "turnbar" }, h("strong", { class: "name", title: nameOf(turn) }, nameOf(turn)));
    if (turn.finished === null) bar.append(h("span", { class: "quiet" }, "still working"));
    else if (bare) bar.append(h("span", { class: "acts" }, keep));
    else if (turn.after) bar.append(h("span", { class: "acts" }, keep, undo));
    if (turn.missing) bar.append(h("span", { class: "quiet" }, turn.missing));
    if (turn.hosts.length > 0) bar.append(hostsOf(turn));
    return bar;
  }

  private async keepTurn(turn: Turn): Promise<void> {
    for (const change of this.changes.filter((one) => one.turn === turn.id)) {
      const answer = await this.desk.run("openspace.change.keep", { path: change.path, version: change.version });
      if (!answer.success) return this.reload();
    }
    // What it spoke to is seen with that, too.
    if (turn.hosts.length > 0) await this.desk.run("openspace.turn.keep", { turn: turn.id });
    this.reload();
  }

  private async undoTurn(turn: Turn): Promise<void> {
    const plan = await this.desk.link.call("openspace.turn.undo", { turn: turn.id, preview: true });
    if (plan.success) {
      const chosen = await ask("Undo turn", outcome(plan, "would be put back"), [
        { label: "Cancel", value: "" },
        { label: "Undo turn", value: "undo", style: "bad" },
      ]);
      if (chosen !== "undo") return;
    }
    const done = await this.desk.run("openspace.turn.undo", { turn: turn.id });
    this.reload();
    if (!done.success) return;
    this.desk.announce(`Undid ${nameOf(turn)}`);
    if (done.conflicts.length + done.refConflicts.length) show("Undo turn: conflicts", this.conflicts(done));
  }

  // What was changed since and so was not put back: each with what it is now beside what it was before the turn.
  private conflicts(done: TurnUndone): HTMLElement {
    const rows = done.conflicts.map((conflict) => {
      const { path, wanted, now } = conflict;
      const open = h("button", { class: "button small" }, "Compare");
      open.addEventListener("click", () => void compare(path, wanted ?? "", now ?? "", []));
      return h("li", {}, h("bdi", {}, path), ` – ${conflict.reason} `, wanted === null && now === null ? null : open);
    });
    return h("div", { class: "conflicts" }, h("p", {}, "Changed since the turn, so left as they are:"), h("ul", {}, ...rows, ...done.refConflicts.map((text) => h("li", {}, text))));
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
        change.by === "shell" ? h("span", { class: "byshell", title: "Changed by a program, not by an edit" }, "by a command") : null,
        change.note ? h("span", { class: "quiet" }, change.note === "mode" ? "mode changed" : "link") : null,
        h("span", { class: "plus" }, `+${change.added}`),
        h("span", { class: "minus" }, `−${change.removed}`),
        h(
          "span",
          { class: "acts" },
          change.shown ? beside : null,
          h("button", { class: "button small", "data-focus": `keep ${path}`, on: { click: act("keep") } }, "Keep"),
          h("button", { class: "button small bad", "data-focus": `revert ${path}`, on: { click: act("revert") } }, change.runsByItself && change.before === null ? "Remove" : "Take back"),
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
    if (hunk === null || change.before === null || change.by === "shell" || change.hunks.length < 2) return h("div", {}, ...rows);
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

function nameOf(turn: Turn): string {
  return turn.title || `${turn.agent}, ${new Date(turn.started * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })}`;
}

// What a person may want to know of even where no file changed; not an agent's own model.
function toReview(host: HostTraffic): boolean {
  return host.connections > 0 && host.by !== "agent";
}

// The hosts that a turn's programs spoke to, with what went out and came in; those that were refused behind them.
function hostsOf(turn: Turn): HTMLElement {
  const rows = turn.hosts.map((one) => {
    const bytes = one.connections > 0 ? h("span", { class: "quiet" }, ` sent ${size(one.up)}, received ${size(one.down)}`) : null;
    return h("li", {}, h("bdi", {}, one.host), bytes, one.refused > 0 ? h("span", { class: "quiet" }, one.connections > 0 ? ", some refused" : " refused") : null);
  });
  return h("ul", { class: "hosts", "aria-label": "Hosts it spoke to" }, ...rows);
}

function outcome(plan: TurnUndone, words: string): HTMLElement {
  const list = (items: readonly string[]) => h("ul", { class: "paths" }, ...items.slice(0, 12).map((item) => h("li", {}, h("bdi", {}, item))), items.length > 12 ? h("li", {}, `and ${items.length - 12} more`) : null);
  const conflicts = [...plan.conflicts.map((one) => `${one.path}: ${one.reason}`), ...plan.refConflicts];
  const files = [...plan.files, ...plan.refs];
  return h(
    "div",
    {},
    h("p", {}, `${files.length} ${words}:`),
    list(files),
    conflicts.length ? h("p", {}, "Changed since, and left as they are:") : null,
    conflicts.length ? list(conflicts) : null,
    h("p", { class: "quiet" }, "Ignored files and files over 20 MB are not covered."),
  );
}
