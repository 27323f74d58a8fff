// The palette: every command and every file by a few letters; a command's arguments are asked for one by one.

import type { PastChat } from "../wire/types.ts";
import { rank } from "../model/fuzzy.ts";
import { tabs } from "../model/geometry.ts";
import { type Argument, argumentsOf, BadValue, type ManifestCommand, parseValue } from "../model/schema.ts";
import { showChats } from "./chats.ts";
import type { Desk } from "./desk.ts";
import { ask, show } from "./dialog.ts";
import { debounce, h } from "./dom.ts";

export interface Item {
  label: string;
  note?: string;
  key?: string;
  agent?: boolean;
  outside?: boolean;
  value?: string;
  hits?: number[];
  score?: number;
  run: () => void;
  options?: () => void; // with Tab: set what may be left out, too
}

interface Stage {
  crumbs: string;
  placeholder: string;
  hint: string;
  items: (query: string) => Item[] | Promise<Item[]>;
  typed?: (text: string) => void; // Enter on what is not in the list
}

const RECENT = "fourhands.recent";
const MOST = 60;
const FIRST = ["openspace.editor.open", "openspace.terminal.create", "openspace.file.search", "openspace.workbench.undo"];

export class Palette {
  private readonly dialog = h("dialog", { class: "palette", "aria-label": "Commands and files" });
  private readonly crumbs = h("div", { class: "crumbs", hidden: true });
  private readonly input = h("input", {
    type: "text",
    role: "combobox",
    "aria-expanded": "true",
    "aria-controls": "palette-list",
    "aria-label": "Search commands and files",
    spellcheck: "false",
    autocomplete: "off",
  });
  private readonly list = h("ul", { role: "listbox", id: "palette-list", "aria-label": "Found" });
  private readonly hint = h("div", { class: "hint" });
  private stage: Stage | null = null;
  private items: Item[] = [];
  private at = 0;
  private asked = 0;
  private listedFor: string | null = null; // what was typed when the list was made
  private before: Element | null = null;
  private readonly later = debounce(() => void this.refresh(), 60);

  constructor(
    private readonly desk: Desk,
    private readonly local: () => Item[],
    private readonly openFile: (path: string, line?: number) => void,
    private readonly context: (name: string) => string | undefined,
  ) {
    this.dialog.append(this.crumbs, this.input, this.list, this.hint);
    this.input.addEventListener("input", () => this.later());
    this.dialog.addEventListener("keydown", (event) => this.key(event));
    this.dialog.addEventListener("click", (event) => {
      if (event.target === this.dialog) this.close();
    });
    this.dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      this.close();
    });
    desk.openPalette = (start) => this.open(start);
    desk.askArguments = (command, known) => this.prepare(command, known);
  }

  get shown(): boolean {
    return this.dialog.open;
  }

  open(start = ""): void {
    this.enter(
      {
        crumbs: "",
        placeholder: "Search commands and files",
        hint: "Enter to choose · Tab for more choices · path:12 goes to a line",
        items: (query) => this.everything(query),
      },
      start,
    );
  }

  close(): void {
    this.stage = null;
    if (this.dialog.open) this.dialog.close();
    this.dialog.remove();
    if (this.before instanceof HTMLElement && this.before.isConnected) this.before.focus();
    this.before = null;
  }

  private enter(stage: Stage, text = ""): void {
    this.stage = stage;
    if (!this.dialog.open) {
      this.before = document.activeElement;
      document.body.append(this.dialog);
      this.dialog.showModal();
    }
    this.crumbs.textContent = stage.crumbs;
    this.crumbs.hidden = !stage.crumbs;
    this.input.placeholder = stage.placeholder;
    this.input.value = text;
    this.listedFor = null;
    this.say(stage.hint);
    this.input.focus();
    void this.refresh();
  }

  private say(text: string, bad = false): void {
    this.hint.textContent = text;
    this.hint.className = bad ? "hint bad" : "hint";
    if (bad) this.desk.announce(text, true);
  }

  private async refresh(): Promise<void> {
    const { stage } = this;
    const mine = ++this.asked;
    const query = this.input.value;
    const found = await stage?.items(query);
    if (mine !== this.asked || !found || stage !== this.stage) return;
    this.listedFor = query;
    this.items = found.slice(0, MOST);
    this.at = 0;
    this.draw();
  }

  private draw(): void {
    this.list.replaceChildren(
      ...this.items.map((item, index) =>
        h(
          "li",
          {
            role: "option",
            id: `palette-${index}`,
            "aria-selected": String(index === this.at),
            on: {
              click: () => item.run(),
              pointermove: () => index !== this.at && this.select(index),
            },
          },
          h("span", { class: "name" }, ...marked(item.label, item.hits ?? [])),
          item.note ? h("span", { class: "note" }, item.note) : null,
          item.outside ? h("span", { class: "tag outside" }, "runs outside") : null,
          item.agent ? h("span", { class: "tag" }, "agent may use") : null,
          item.key ? h("kbd", {}, item.key) : null,
        ),
      ),
    );
    this.input.setAttribute("aria-activedescendant", this.items.length ? `palette-${this.at}` : "");
  }

  private select(index: number): void {
    this.list.children[this.at]?.setAttribute("aria-selected", "false");
    this.at = index;
    const chosen = this.list.children[index];
    chosen?.setAttribute("aria-selected", "true");
    chosen?.scrollIntoView({ block: "nearest" });
    this.input.setAttribute("aria-activedescendant", `palette-${index}`);
  }

  private key(event: KeyboardEvent): void {
    const count = this.items.length;
    switch (event.key) {
      case "ArrowDown":
        if (count) this.select((this.at + 1) % count);
        break;
      case "ArrowUp":
        if (count) this.select((this.at + count - 1) % count);
        break;
      case "Tab":
        this.items[this.at]?.options?.();
        break;
      case "Enter":
        void this.choose();
        break;
      case "Escape":
        this.close();
        break;
      default:
        return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  private async choose(): Promise<void> {
    // A person who types fast presses Enter before the list has followed.
    this.later.cancel();
    const typed = this.stage?.typed;
    if (this.listedFor !== this.input.value) await this.refresh();
    const item = this.items[this.at];
    if (item) item.run();
    else typed?.(this.input.value);
  }

  // -- commands and files --------------------------------------------------------------------------------------------

  private async everything(query: string): Promise<Item[]> {
    const only = query.startsWith(">");
    const text = only ? query.slice(1) : query;
    const commands = this.commandItems(text);
    if (only || text.trim() === "") return commands;
    const files = await this.fileItems(text);
    // Letters strewn over a command's name are a weaker sign than a file that is called so.
    const strong = commands.filter((item) => (item.score ?? 0) >= 100);
    return [...strong, ...files, ...commands.filter((item) => !strong.includes(item))];
  }

  private commandItems(query: string): Item[] {
    const recent = recents();
    const mine = [...this.desk.model.commands.values()].filter((command) => command.actors.includes("person"));
    mine.sort((a, b) => place(recent, a.id) - place(recent, b.id) || a.label.localeCompare(b.label));
    const items = mine.map(
      (command): Item => ({
        label: command.label,
        note: command.id.replace("openspace.", ""),
        ...(command.key ? { key: command.key } : {}),
        agent: command.actors.includes("agent"),
        outside: command.announced,
        run: () => this.prepare(command.id, {}),
        options: () => this.prepare(command.id, {}, true),
      }),
    );
    return rank(query, [...items, ...this.local()], (item) => `${item.label} ${item.note ?? ""}`).map(({ item, hits, score }) => ({
      ...item,
      score,
      hits: hits.filter((hit) => hit < item.label.length),
      ...(hits.length && !hits.some((hit) => hit < item.label.length) ? { hits: [-1] } : {}),
    }));
  }

  private async fileItems(query: string): Promise<Item[]> {
    const [, name = query, line] = /^(.*?)(?::(\d+))?$/.exec(query.trim()) ?? [];
    if (!name) return [];
    const answer = await this.desk.link.call("openspace.file.search", { query: name });
    if (!answer.success) return [];
    const byName = rank(name, answer.results, (path) => path);
    return byName.slice(0, 20).map(({ item: path, hits }) => ({
      label: path,
      note: line ? `line ${line}` : "file",
      value: path,
      hits,
      run: () => {
        this.close();
        this.openFile(path, line ? Number(line) : undefined);
      },
    }));
  }

  // -- arguments -----------------------------------------------------------------------------------------------------

  // Ask for what is missing, then run.
  prepare(id: string, known: Record<string, unknown>, everything = false): void {
    const command = this.desk.model.commands.get(id);
    if (!command) return;
    const all = argumentsOf(command.arguments_schema);
    const missing = all.find((argument) => argument.required && !(argument.name in known));
    if (missing) {
      this.askFor(command, missing, known, everything || all.some((argument) => !argument.required));
      return;
    }
    const optional = all.filter((argument) => !argument.required && !(argument.name in known));
    if (everything && optional.length) this.offer(command, optional, known);
    else void this.run(command, known);
  }

  private offer(command: ManifestCommand, optional: Argument[], known: Record<string, unknown>): void {
    const now: Item = { label: `${command.label} now`, key: "Enter", run: () => void this.run(command, known) };
    const more = optional.map(
      (argument): Item => ({
        label: argument.name,
        note: argument.description,
        run: () => this.askFor(command, argument, known, true),
      }),
    );
    this.enter({
      crumbs: crumbs(command, known),
      placeholder: "Run, or add arguments",
      hint: command.description.split("\n")[0] ?? "",
      items: (query) => rank(query, [now, ...more], (item) => item.label).map(({ item }) => item),
    });
  }

  private askFor(command: ManifestCommand, argument: Argument, known: Record<string, unknown>, more: boolean): void {
    const give = (text: string) => {
      try {
        const value = parseValue(argument, text);
        const next = value === undefined ? { ...known } : { ...known, [argument.name]: value };
        this.prepare(command.id, next, more);
      } catch (error) {
        if (error instanceof BadValue) this.say(error.message, true);
        else throw error;
      }
    };
    const offered = command.id.startsWith("openspace.agent.") ? this.offered(argument.name, known) : null;
    const free = argument.form === "text" || argument.form === "number" || argument.form === "json";
    this.enter({
      crumbs: crumbs(command, known),
      placeholder: argument.name,
      hint: argument.description || `${argument.name} (${argument.form})`,
      typed: give,
      items: async (query) => {
        const found = await this.suggest(argument, query, await offered);
        const typed = query !== "" && free && !found.some((item) => item.value === query);
        const mine: Item[] = typed ? [{ label: query, note: argument.name, run: () => give(query) }] : [];
        const given = found.map((item) => ({ ...item, run: () => give(item.value ?? item.label) }));
        return argument.name === "path" && query && given.length ? [...given, ...mine] : [...mine, ...given];
      },
    });
  }

  // What an agent itself lets one choose: it is asked for it, once.
  private async offered(name: string, known: Record<string, unknown>): Promise<Item[] | null> {
    const { sessionId } = known;
    if (typeof sessionId !== "string" || !["mode", "option", "value", "method", "chat"].includes(name)) return null;
    if (name === "chat") {
      const listed = await this.desk.link.call("openspace.agent.list_chats", { sessionId });
      return listed.success ? listed.chats.map((one) => ({ label: one.title || one.id, value: one.id, note: one.updated, run: () => {} })) : null;
    }
    const about = await this.desk.link.call("openspace.agent.describe", { sessionId });
    if (!about.success) return null;
    const item = (one: { id: string; name: string; description: string }): Item => ({ label: one.name, value: one.id, note: one.description, run: () => {} });
    if (name === "mode") return about.modes.map((one) => ({ ...item(one), ...(one.id === about.mode ? { note: "now" } : {}) }));
    if (name === "method") return about.signIn.map(item);
    if (name === "option") return about.options.map((one) => ({ ...item(one), note: String(one.value) }));
    const option = about.options.find((one) => one.id === known.option);
    return option?.kind === "boolean" ? ["yes", "no"].map((text) => item({ id: text, name: text, description: "" })) : (option?.choices.map(item) ?? null);
  }

  private async suggest(argument: Argument, query: string, offered: Item[] | null = null): Promise<Item[]> {
    const { model } = this.desk;
    const item = (value: string, label = value, note = ""): Item => ({ label, value, note, run: () => {} });
    let all: Item[] = [];
    const here = this.context(argument.name);
    if (offered) return rank(query, offered, (one) => `${one.label} ${one.value ?? ""}`).map((one) => one.item);
    switch (argument.name) {
      case "path":
      case "contentId": {
        const open = [...model.editors.keys()].map((path) => item(path, path, "open"));
        const terminals = argument.name === "contentId" ? [...model.terminals.values()].map((one) => item(one.id, one.title, "terminal")) : [];
        all = [...open, ...terminals, ...(query ? await this.fileItems(query) : [])];
        all = all.filter((one, index) => all.findIndex((other) => other.value === one.value) === index);
        break;
      }
      case "terminalId":
        all = [...model.terminals.values()].map((one) => item(one.id, one.title, one.cwd));
        break;
      case "sessionId":
        all = [...model.agents.values()].map((one) => item(one.id, one.name, one.connector));
        break;
      case "paneId":
      case "target":
        all = tabs(model.layout.root).map(({ tab }) => item(tab.id, model.terminals.get(tab.content)?.title ?? tab.title, tab.type));
        break;
      case "agent":
        all = ["tour", "claude", "gemini", "opencode acp", "opencode"].map((name) => item(name));
        break;
      case "highlightId":
        all = [...model.highlights.values()].map((one) => item(one.id, one.id, one.path));
        break;
      case "callId":
        all = model.actions.map((one) => item(one.callId, one.description, one.status));
        break;
      case "questionId":
        all = [...model.questions.values()].map((one) => item(one.id, one.text));
        break;
      case "command":
        all = [...model.commands.values()].map((one) => item(one.id, one.id, one.label));
        break;
      default:
        if (argument.form === "boolean") all = [item("yes"), item("no")];
        else all = argument.choices.map((choice) => item(choice));
    }
    const found = rank(query, all, (one) => one.label).map((one) => ({ ...one.item, hits: one.hits }));
    return here && !query ? found.sort((a, b) => Number(b.value === here) - Number(a.value === here)) : found;
  }

  private async run(command: ManifestCommand, args: Record<string, unknown>): Promise<void> {
    this.close();
    remember(command.id);
    if (command.danger) {
      const sure = await ask(command.label, `${JSON.stringify(args)} — this cannot be taken back.`, [
        { label: command.label, value: "yes", style: "bad" },
        { label: "Cancel", value: "" },
      ]);
      if (sure !== "yes") return;
    }
    const answer = await this.desk.run(command.id, args);
    if (!answer.success) return;
    if (command.id === "openspace.agent.list_chats") {
      showChats(this.desk, String(args.sessionId), answer.chats as PastChat[]);
    } else if (command.readOnly || command.announced) {
      const { success: _, ...data } = answer;
      show(command.label, h("pre", { class: "json", tabindex: "0" }, JSON.stringify(data, null, 2)));
    } else if (/\.(open|create|show|focus)$/.test(command.id)) {
      this.desk.focusActive();
    }
  }
}

function crumbs(command: ManifestCommand, known: Record<string, unknown>): string {
  const given = Object.entries(known).map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
  return [command.label, ...given].join(" › ");
}

function marked(text: string, hits: number[]): (string | Node)[] {
  if (hits.length === 0 || hits[0] === -1) return [text];
  const chosen = new Set(hits);
  const parts: (string | Node)[] = [];
  let run = "";
  let bold = false;
  const flush = () => {
    if (run) parts.push(bold ? h("b", {}, run) : run);
    run = "";
  };
  [...text].forEach((letter, index) => {
    if (chosen.has(index) !== bold) {
      flush();
      bold = !bold;
    }
    run += letter;
  });
  flush();
  return parts;
}

function recents(): string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(RECENT) ?? "null");
    return Array.isArray(stored) ? stored.filter((one): one is string => typeof one === "string") : FIRST;
  } catch {
    return FIRST;
  }
}

function remember(id: string): void {
  localStorage.setItem(RECENT, JSON.stringify([id, ...recents().filter((one) => one !== id)].slice(0, 12)));
}

function place(recent: string[], id: string): number {
  const at = recent.indexOf(id);
  return at < 0 ? recent.length : at;
}
