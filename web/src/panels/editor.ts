// A file in a pane: reads and saves it by versions, keeps what is not saved with the server, shows marks.
//
// Monaco arrives later than the page; until then the file is being read anyway.

import type { Editor, Highlight, Tab } from "../wire/types.ts";
import type { CodeEditor } from "./code.ts";
import type { Desk } from "./desk.ts";
import type { View } from "./dock.ts";
import { debounce, h } from "./dom.ts";
import { generated, Peek } from "./peek.ts";
import { token } from "./theme.ts";

const LARGEST = 900_000; // characters that can be sent back in one message

export interface EditorStatus {
  setPosition(line: number, column: number, language: string): void;
}

export class EditorView implements View {
  readonly element: HTMLElement;
  readonly path: string;
  code: CodeEditor | null = null;
  private readonly holder = h("div", { class: "editor" });
  private readonly note = h("div", { class: "editornote", role: "status", hidden: true });
  private readonly loading = h("div", { class: "loading" }, "Opening …");
  private readonly peek: Peek;
  private readonly disposers: (() => void)[] = [];
  private base: string | null = null; // the version that the text here started from
  private saved = ""; // the text of that version
  private revealed = -1;
  private sending = 0;
  private gone = false;
  private readonly keep = debounce(() => void this.sendDraft(), 400);
  private readonly again = debounce(() => void this.reread(), 50);

  constructor(
    tab: Tab,
    private readonly desk: Desk,
    private readonly status: EditorStatus,
  ) {
    this.path = tab.content;
    this.holder.append(this.loading);
    this.peek = new Peek(desk, this.path, (mark) => this.ownerOf(mark));
    this.element = h("section", {}, this.note, this.holder, this.peek.element);
    const { signals } = desk.model;
    this.disposers.push(
      signals.on("editors", () => this.follow()),
      signals.on("highlights", () => this.showMarks()),
      signals.on("drafts", () => this.draftChanged()),
      desk.theme.on(() => this.showMarks()),
    );
    // A person who scrolls away from where the agent led them wants to read, not to be led.
    this.holder.addEventListener("wheel", () => this.desk.model.agents.size > 0 && this.revealed > 0 && this.desk.setFollowing(false), {
      passive: true,
      capture: true, // Monaco keeps it for itself
    });
    void this.open();
  }

  private get state(): Editor | undefined {
    return this.desk.model.editors.get(this.path);
  }

  private async open(): Promise<void> {
    const [module, read] = await Promise.all([import("./monaco.ts"), this.read()]);
    if (this.gone) return;
    if (!read) return;
    const draft = this.desk.model.drafts.get(this.path);
    this.disposers.push(this.desk.theme.on((shown) => module.setTheme(shown)));
    this.loading.remove();
    this.base = draft ? draft.baseVersion : read.version;
    this.saved = read.content;
    this.code = module.createEditor(this.holder, this.path, draft?.text ?? read.content, {
      changed: () => this.changed(),
      moved: (line, column) => this.code && this.status.setPosition(line, column, this.code.language()),
    });
    if (read.content.length > LARGEST) {
      this.code.setReadOnly(true);
      this.tell(`Read only: ${Math.round(read.content.length / 1000)} thousand characters are too many to be changed here.`, []);
    }
    this.showMarks();
    this.revealed = -1;
    this.follow();
    if (draft && draft.baseVersion !== read.version) this.conflict(read.content, read.version);
    // A person who went on to something else while this was loading keeps the keyboard there.
    const at = document.activeElement ?? document.body;
    if (this.wantedFrom && (at === this.wantedFrom || at === document.body)) this.code.focus();
  }

  private async read(): Promise<{ content: string; version: string } | null> {
    const answer = await this.desk.link.call("openspace.file.read", { path: this.path });
    if (answer.success) return answer;
    const elsewhere = answer.code === "too-large" || answer.error.includes("binary");
    this.loading.remove();
    this.holder.replaceChildren(
      h(
        "div",
        { class: "unreadable" },
        h("b", {}, answer.error),
        h("span", {}, elsewhere ? "A program in a terminal can show it piece by piece." : answer.hint),
        h(
          "div",
          {},
          elsewhere ? h("button", { class: "button", on: { click: () => void this.showInTerminal() } }, "Look at it in a terminal") : null,
          h("button", { class: "button", on: { click: () => void this.retry() } }, "Try again"),
        ),
      ),
    );
    return null;
  }

  private async showInTerminal(): Promise<void> {
    const made = await this.desk.run("openspace.terminal.create", {});
    if (!made.success) return;
    const quoted = `'${this.path.replaceAll("'", `'\\''`)}'`;
    await this.desk.run("openspace.terminal.send", { terminalId: made.terminalId, text: `less -- ${quoted}\n` });
  }

  private async retry(): Promise<void> {
    this.holder.replaceChildren(this.loading);
    await this.open();
  }

  // -- what others do ------------------------------------------------------------------------------------------------

  private follow(): void {
    const { state, code } = this;
    if (!state || !code) return;
    if (state.reveal > this.revealed) {
      const first = this.revealed < 0;
      this.revealed = state.reveal;
      const mine = this.desk.pending > 0;
      if ((first && state.reveal > 0) || mine || (this.desk.following && !(code.hasFocus() && this.desk.typing))) {
        if (state.reveal > 0) code.reveal(state.line, state.column);
      }
    }
    if (state.version !== null && state.version !== this.base && this.sending === 0) this.again();
  }

  fileChanged(version: string | null): void {
    if (version !== this.base && this.sending === 0) this.again();
  }

  // The file is another than the one we started from.
  private async reread(): Promise<void> {
    if (!this.code) return;
    const { base } = this;
    const answer = await this.desk.link.call("openspace.file.read", { path: this.path });
    if (!this.code || this.gone) return;
    // Saved or taken meanwhile: what was read may be from before that.
    if (this.base !== base || this.sending > 0) return this.again();
    if (!answer.success) {
      this.tell(`${this.path} is no longer there: ${answer.error}`, [
        ["Save it again", () => void this.save("any")],
      ]);
      return;
    }
    if (answer.version === this.base) return;
    const untouched = this.code.text() === this.saved;
    if (untouched) {
      this.base = answer.version;
      this.saved = answer.content;
      this.code.setText(answer.content);
      this.showMarks();
      this.note.hidden = true;
    } else if (this.code.text() === answer.content) {
      this.base = answer.version;
      this.saved = answer.content;
      this.note.hidden = true;
    } else {
      this.conflict(answer.content, answer.version);
    }
  }

  private conflict(theirs: string, version: string): void {
    let comparing = false;
    const toggle = () => {
      comparing = !comparing;
      this.code?.compare(comparing ? theirs : null);
    };
    this.tell("This file was changed on disk while you were typing. Both are kept until you choose.", [
      ["Compare", toggle],
      ["Keep mine", () => (this.code?.compare(null), void this.save(version))],
      ["Take theirs", () => (this.code?.compare(null), void this.takeTheirs(theirs, version))],
    ]);
  }

  private async takeTheirs(text: string, version: string): Promise<void> {
    this.keep.cancel();
    const answer = await this.sent(this.desk.run("openspace.editor.discard", { path: this.path }));
    if (!answer.success) return;
    this.base = version;
    this.saved = text;
    this.code?.setText(text);
    this.note.hidden = true;
  }

  private tell(text: string, actions: [string, () => void][]): void {
    this.note.hidden = false;
    this.note.replaceChildren(
      h("span", { class: "what" }, text),
      ...actions.map(([label, run]) => h("button", { class: "button small", on: { click: run } }, label)),
    );
  }

  // -- what the person types -----------------------------------------------------------------------------------------

  private changed(): void {
    this.desk.typed();
    this.keep();
  }

  private async sent<T>(work: Promise<T>): Promise<T> {
    this.sending++;
    try {
      return await work;
    } finally {
      this.sending--; // events of our own doing come before the answer
    }
  }

  private async sendDraft(): Promise<void> {
    const text = this.code?.text();
    if (text === undefined || text.length > LARGEST) return;
    if (text === this.saved) {
      if (this.state?.dirty) await this.sent(this.desk.run("openspace.editor.discard", { path: this.path }, true));
      return;
    }
    await this.sent(this.desk.run("openspace.editor.set_draft", { path: this.path, text, baseVersion: this.base }));
  }

  // Another browser typed in the same file: show its text, unless a person types here.
  private draftChanged(): void {
    const { model } = this.desk;
    if (!model.staleDrafts.has(this.path) || this.sending > 0) return;
    model.staleDrafts.delete(this.path);
    if (!this.code || (this.code.hasFocus() && this.desk.typing)) return;
    if (!this.state?.dirty) {
      this.again();
      if (this.code.text() !== this.saved) this.code.setText(this.saved);
      return;
    }
    void this.desk.link.call("openspace.workbench.snapshot", {}).then((answer) => {
      const draft = answer.success ? answer.state.drafts.find((one) => one.path === this.path) : undefined;
      if (draft && this.code && !(this.code.hasFocus() && this.desk.typing)) this.code.setText(draft.text);
    });
  }

  async save(expected?: string): Promise<boolean> {
    const text = this.code?.text();
    if (text === undefined) return false;
    if (text === this.saved && !this.state?.dirty && expected === undefined) return true;
    this.keep.cancel();
    const expectedVersion = expected ?? this.base;
    const answer = await this.sent(this.desk.run("openspace.editor.save", { path: this.path, text, expectedVersion }, true));
    if (answer.success) {
      this.base = answer.version;
      this.saved = text;
      this.note.hidden = true;
      this.desk.announce(`Saved ${this.path}`);
      return true;
    }
    if (answer.code === "conflict") await this.reread();
    else this.desk.toasts.show(answer.error, answer.hint, "error");
    return false;
  }

  // -- marks ---------------------------------------------------------------------------------------------------------

  private showMarks(): void {
    const { code } = this;
    if (!code) return;
    const marks = [...this.desk.model.highlights.values()].filter((mark) => mark.path === this.path);
    const wanted = new Set(marks.map((mark) => mark.id));
    for (const id of code.marks()) if (!wanted.has(id)) code.clear(id);
    for (const mark of marks) code.decorate(mark.id, mark.ranges, this.styleOf(mark));
    this.peek.render();
  }

  showPeek(): void {
    this.peek.open();
  }

  private ownerOf(mark: Highlight): { name: string; color: string } {
    const mine = !mark.owner.startsWith("session_");
    const name = this.desk.model.agents.get(mark.owner)?.name ?? (mine ? "You" : "Agent");
    return { name, color: mark.color ?? token(mine ? "you" : "agent") };
  }

  private styleOf(mark: Highlight): { color: string; label: string; hover: string } {
    const { name, color } = this.ownerOf(mark);
    const words = mark.label ?? (generated(mark) ? "" : mark.id);
    return { color, label: words ? `${name}: ${words}` : "", hover: `${name}: ${words || mark.id}` };
  }

  // -- as a view -----------------------------------------------------------------------------------------------------

  private wantedFrom: Element | null = null; // where the keyboard was when it was wanted here

  shown(visible: boolean): void {
    if (!visible || !this.code) return;
    this.showMarks();
  }

  focus(): void {
    this.wantedFrom = document.activeElement ?? document.body;
    this.code?.focus();
  }

  dispose(): void {
    this.keep.cancel();
    this.again.cancel();
    this.gone = true;
    for (const dispose of this.disposers) dispose();
    this.code?.dispose();
  }
}
