// A rehearsal of the command that a question is about: what it printed in a copy of the workspace, what it would change
// there, what a rehearsal cannot show; then to be discarded, applied to the files, or run for real.

import { unifiedLines } from "../model/diff.ts";
import type { Question, RehearsalApplied, RehearsalInfo, RehearsedChange } from "../wire/types.ts";
import type { Desk } from "./desk.ts";
import { show } from "./dialog.ts";
import { h, icon, setText } from "./dom.ts";
import { diffRow } from "./refusal.ts";
import { size } from "./size.ts";

const DEAF_MS = 400;
const KINDS: Record<RehearsedChange["kind"], string> = { created: "new", changed: "changed", deleted: "deleted" };

// The button on the card of a question; it is there as soon as the server has said that there is something to rehearse.
export function rehearseButton(desk: Desk, question: Question, runForReal: () => void): HTMLElement {
  const button = h("button", { class: "button", hidden: true }, "Rehearse");
  const look = async (): Promise<void> => {
    const offer = await desk.link.call("openspace.rehearsal.check", { questionId: question.id });
    if (!offer.success || !offer.concerned) return;
    button.hidden = false;
    button.setAttribute("aria-disabled", String(!offer.possible));
    button.title = offer.possible ? "Run it in a copy of the workspace, without network, and see what it would change" : `No rehearsal here: ${offer.reason}`;
    setText(button, offer.rehearsal ? "Show rehearsal" : "Rehearse");
  };
  button.addEventListener("click", () => {
    if (button.getAttribute("aria-disabled") !== "true") void new RehearsalView(desk, question, runForReal, () => void look()).open();
  });
  if (desk.model.commands.has("openspace.rehearsal.check")) void look();
  return button;
}

class RehearsalView {
  private readonly head = h("span", { class: "quiet" }, "in a copy, without network · your files are untouched");
  private readonly body = h("div", { class: "body", "aria-live": "polite" });
  private readonly row = h("div", { class: "row" });
  private readonly dialog = h(
    "dialog",
    { class: "rehearsal", "aria-labelledby": "rehearsal-title" },
    h("div", { class: "dialog" }, h("header", {}, h("h2", { id: "rehearsal-title" }, "Rehearsal"), this.head), this.body, this.row),
  );
  private readonly dispose: () => void;
  private readonly beat: ReturnType<typeof setInterval>;
  private readonly seconds = h("span", { class: "quiet" }, "running…");
  private readonly born = performance.now();
  private id = "";
  private over = false; // its end is shown

  constructor(
    private readonly desk: Desk,
    private readonly question: Question,
    private readonly runForReal: () => void,
    private readonly closed: () => void,
  ) {
    this.dispose = desk.model.signals.on(["questions", "rehearsals"], () => this.changed());
    this.beat = setInterval(() => setText(this.seconds, `running… ${Math.round((performance.now() - this.born) / 1000)} s`), 500);
    this.dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      this.close();
    });
  }

  // Show the rehearsal that there is, or begin one.
  async open(): Promise<void> {
    document.body.append(this.dialog);
    this.dialog.showModal();
    this.draw(null);
    const offer = await this.desk.link.call("openspace.rehearsal.check", { questionId: this.question.id });
    const known = offer.success ? offer.rehearsal : "";
    const answer = known
      ? await this.desk.run("openspace.rehearsal.read", { id: known })
      : await this.desk.run("openspace.rehearsal.start", { questionId: this.question.id });
    if (!answer.success) return this.close();
    this.id = answer.id;
    this.draw(answer);
    this.changed();
  }

  private close(): void {
    clearInterval(this.beat);
    this.dispose();
    this.dialog.close();
    this.dialog.remove();
    this.closed();
  }

  private changed(): void {
    if (!this.desk.model.questions.has(this.question.id)) return this.close();
    const now = this.id && this.desk.model.rehearsals.get(this.question.id);
    if (now && now.id === this.id && now.state === "ended" && !this.over) void this.read();
  }

  private async read(): Promise<void> {
    const answer = await this.desk.link.call("openspace.rehearsal.read", { id: this.id });
    if (answer.success && this.dialog.open) this.draw(answer);
  }

  private async discard(): Promise<void> {
    await this.desk.run("openspace.rehearsal.discard", { id: this.id });
    this.close();
  }

  private async apply(): Promise<void> {
    const done = await this.desk.run("openspace.rehearsal.apply", { id: this.id });
    if (!done.success) return;
    this.desk.announce(`Applied ${count(done.files, "path")}`);
    if (done.conflicts.length || done.missing) show("Applied to files", outcome(done));
  }

  private draw(info: RehearsalInfo | null): void {
    this.over = info?.state === "ended";
    if (this.over) clearInterval(this.beat);
    this.body.replaceChildren(...(info === null || info.state === "running" ? this.running(info) : this.ended(info)));
    const buttons = this.buttons(info);
    this.row.replaceChildren(...buttons);
    buttons.find((one) => "default" in one.dataset)?.focus();
  }

  private running(info: RehearsalInfo | null): Node[] {
    return [output(info?.line ?? this.question.shown, "", this.seconds)];
  }

  private ended(info: RehearsalInfo): Node[] {
    if (info.failed) return [h("p", { class: "minus" }, `It could not be rehearsed: ${info.failed}`)];
    const code = info.exitCode ?? 1;
    const end = info.stopped ? h("span", { class: "minus" }, info.stopped) : h("span", { class: code ? "minus" : "plus" }, `exit ${code}`);
    const rows = info.changes.map(changeRow);
    if (info.moreChanges) rows.push(h("li", { class: "quiet" }, `and ${info.moreChanges} more`));
    if (info.gitFiles) rows.push(h("li", { class: "quiet" }, `and ${count(info.gitFiles, "file")} that git keeps for itself`));
    return [
      output(info.line, info.output, end),
      h("h3", {}, "What it would change in your files"),
      rows.length ? h("ul", { class: "rehearsed" }, ...rows) : h("p", { class: "quiet" }, "Nothing."),
      h("h3", {}, "What a rehearsal cannot show"),
      h("ul", { class: "unseen" }, ...info.cannotShow.map((words) => h("li", {}, words))),
      ...(info.blocked && rows.length ? [h("p", { class: "level" }, `Apply to files is not possible: ${info.blocked}.`)] : []),
    ];
  }

  private buttons(info: RehearsalInfo | null): HTMLButtonElement[] {
    if (info === null) return [];
    if (info.state === "running") {
      const stop = h("button", { class: "button", "data-default": "" }, "Stop");
      stop.addEventListener("click", () => void this.desk.run("openspace.rehearsal.stop", { id: this.id }));
      return [stop];
    }
    const discard = h("button", { class: "button", "data-default": "" }, "Discard");
    discard.addEventListener("click", () => void this.discard());
    const apply = this.guarded("Apply to files", "", () => void this.apply());
    if (info.blocked) {
      apply.disabled = true;
      apply.title = info.blocked;
    }
    const style = this.question.level === "dangerous" ? "risky" : "main";
    return [discard, apply, this.guarded("Run for real", style, () => this.runForReal())];
  }

  // A click by key in the first moment was meant for something else.
  private guarded(label: string, style: string, run: () => void): HTMLButtonElement {
    const born = performance.now();
    const button = h("button", { class: `button ${style}` }, label);
    button.addEventListener("click", (event) => {
      if (event.detail === 0 && performance.now() - born < DEAF_MS) return;
      run();
    });
    return button;
  }
}

function output(line: string, text: string, end: Node): HTMLElement {
  return h(
    "section",
    { class: "output", "aria-label": "Output" },
    h("header", {}, icon("terminal"), "Output", end),
    h("pre", { tabindex: "0" }, h("b", {}, `$ ${line.trimEnd()}`), text ? `\n${text.trimEnd()}` : ""),
  );
}

// One path; those that have a difference to look at open it.
function changeRow(change: RehearsedChange): HTMLElement {
  const { kind, directory, files, bytes, note, conflict, diff } = change;
  const told = [
    h("bdi", { class: "name" }, directory ? `${change.path}/` : change.path),
    h("span", { class: { created: "plus", changed: "", deleted: "minus" }[kind] }, KINDS[kind]),
    h("span", { class: "quiet" }, [directory ? count(files, "file") : "", directory && !files ? "" : size(bytes), words(note)].filter(Boolean).join(" · ")),
    change.runsByItself ? h("span", { class: "warn", title: "Programs of yours obey it as soon as you open or enter the workspace" }, "runs by itself") : null,
    conflict ? h("span", { class: "minus" }, conflict) : null,
  ];
  if (!diff) return h("li", {}, h("div", { class: "path" }, h("span", { class: "fold" }), ...told));
  const lines = h("div", { class: "diff", hidden: true, tabindex: "0", role: "region", "aria-label": `Changes in ${change.path}` });
  const fold = h("span", { class: "fold" }, icon("right"));
  const button = h("button", { class: "path", "aria-expanded": "false" }, fold, ...told);
  button.addEventListener("click", () => {
    if (!lines.firstChild) lines.append(...unifiedLines(diff.trimEnd()).map(diffRow));
    lines.hidden = !lines.hidden;
    button.setAttribute("aria-expanded", String(!lines.hidden));
    fold.replaceChildren(icon(lines.hidden ? "right" : "down"));
  });
  return h("li", {}, button, lines);
}

function words(note: string): string {
  return note === "mode" ? "only whether it can be run" : note;
}

function outcome(done: RehearsalApplied): HTMLElement {
  return h(
    "div",
    {},
    h("p", {}, `${count(done.files, "path")} written.${done.missing ? ` This cannot be undone as a whole: ${done.missing}.` : ""}`),
    done.conflicts.length ? h("p", {}, "Changed since, or no files, and left as they are:") : null,
    done.conflicts.length ? h("ul", {}, ...done.conflicts.map((one) => h("li", {}, h("bdi", {}, one.path), ` – ${one.reason}`))) : null,
  );
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
