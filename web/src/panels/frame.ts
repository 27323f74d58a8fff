// The frame around all panels: bars, sides, the dock in the middle, and how they know of each other.

import { Activity } from "./activity.ts";
import { ChatPane } from "./chat.ts";
import { Changes } from "./changes.ts";
import type { Desk } from "./desk.ts";
import { Dock } from "./dock.ts";
import { debounce, h, setText } from "./dom.ts";
import { EditorView } from "./editor.ts";
import { Files } from "./files.ts";
import { showHelp } from "./help.ts";
import { Keys } from "./keys.ts";
import { liveRegions } from "./live.ts";
import { Narrow } from "./narrow.ts";
import { type Item, Palette } from "./palette.ts";
import { Questions } from "./question.ts";
import { goRound, region } from "./regions.ts";
import { changeConsent } from "./scopes.ts";
import { Sides } from "./sides.ts";
import { startCards } from "./start.ts";
import { StatusBar } from "./status.ts";
import { TerminalView } from "./terminal.ts";
import { TopBar } from "./topbar.ts";

// A refusal that a person gave, or an end that they wanted, is no news to them.
const KNOWN = new Set(["denied", "stopped", "cancelled"]);

export class Frame {
  readonly element: HTMLElement;
  readonly dock: Dock;
  private readonly files: Files;
  private readonly narrow: Narrow;
  private readonly sides: Sides;
  private readonly questions: Questions;
  private readonly chat: ChatPane;
  private readonly changes: Changes;
  private readonly activity: Activity;
  private readonly changesTab = h("button", { role: "tab", id: "tab-changes" }, "Changes");
  private readonly agentTab = h("button", { role: "tab", id: "tab-agent" }, "Agent");

  constructor(private readonly desk: Desk) {
    const open = (path: string, line?: number) => {
      if (this.narrow.shown) this.narrow.show("editor");
      this.sides.closeDrawer();
      void this.dock.openFile(path, line);
    };
    const top = new TopBar(desk, () => this.toggleSide("left"));
    const status = new StatusBar(desk, () => showHelp(desk));
    const start = startCards(desk.model, {
      openFile: () => desk.openPalette(),
      newTerminal: () => this.newTerminal(),
      connect: () => desk.askArguments("openspace.agent.start", {}),
      tour: () => void this.tour(),
    });
    this.dock = new Dock(
      desk,
      {
        terminal: (tab) => new TerminalView(tab, desk),
        editor: (tab) => new EditorView(tab, desk, status),
      },
      start,
    );
    this.files = new Files(desk, open);
    this.questions = new Questions(desk);
    this.chat = new ChatPane(desk, this.questions, open);
    this.changes = new Changes(desk, open);
    this.activity = new Activity(desk);
    const agentTabs = h("div", { class: "agenttabs", role: "tablist", "aria-label": "Agent and changes" }, this.agentTab, this.changesTab);
    this.agentTab.addEventListener("click", () => this.showTab("agent"));
    this.changesTab.addEventListener("click", () => this.showTab("changes"));
    agentTabs.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      const next = document.activeElement === this.agentTab ? "changes" : "agent";
      this.showTab(next);
      (next === "agent" ? this.agentTab : this.changesTab).focus();
    });
    const side = h("div", { class: "side" }, this.files.element, this.activity.element);
    const middle = h(
      "div",
      { class: "middle" },
      side,
      this.dock.element,
      h("aside", { class: "agentside", "aria-label": "Agent" }, agentTabs, this.chat.element, this.changes.element),
    );
    this.sides = new Sides(middle, side);
    this.narrow = new Narrow(middle, this.dock);
    this.questions.paneVisible = () => this.agentVisible();
    this.narrow.onShow = () => this.questions.render();
    this.showTab("agent");
    const palette = new Palette(desk, () => this.localItems(), open, (name) => this.context(name));
    const regions = () => [
      { element: this.questions.place, focus: () => this.questions.focus() },
      region(top.element, "button:enabled"),
      region(side, "[role=treeitem][tabindex='0']"),
      ...(this.dock.inFront().length ? this.dock.inFront() : [region(this.dock.element, "button")]),
      { element: this.chat.element, focus: () => this.chat.focus() },
      region(this.changes.element, "button, .empty"),
      region(desk.toasts.element, "button"),
      region(status.element, "button:not([hidden])"),
    ];
    new Keys(desk, this.dock, palette, {
      stop: () => void top.stopAgent(),
      toggleSide: (side) => this.toggleSide(side),
      goRound: (back) => goRound(regions(), back),
      context: (name) => this.context(name),
    });
    this.element = h(
      "div",
      { class: "page" },
      top.element,
      status.lost,
      middle,
      status.element,
      this.narrow.keys,
      this.narrow.tabs,
      liveRegions(desk),
    );
    this.watch();
  }

  private watch(): void {
    const { model, toasts } = this.desk;
    model.onFailure = (failure, step) => {
      if (step.actorKind !== "agent" || KNOWN.has(step.code)) return;
      const label = model.commands.get(step.command)?.label ?? step.command;
      const path = String(step.args.path ?? "");
      const create =
        step.code === "not-found" && step.command === "openspace.editor.open" && path
          ? { label: "Create it", run: () => void this.create(path) }
          : undefined;
      toasts.show(`${label}: ${failure.text}`, "", failure.severity === "error" ? "error" : "warning", create);
    };
    model.onNotice = (text) => toasts.show(text, "", "warning");
    model.onFileChanged = (path, version) => {
      const view = this.dock.view("editor", path);
      if (view instanceof EditorView) view.fileChanged(version);
    };
    model.signals.on(["activity"], () => {
      // The one command by which an agent may move the keyboard, and only when no person is typing.
      const step = model.activity[0];
      if (step?.actorKind === "agent" && step.command === "openspace.pane.focus" && step.state === "done") {
        if (this.focusedFor !== step.callId && !this.desk.typing && this.desk.following) this.dock.focusActive();
        this.focusedFor = step.callId;
      }
    });
    model.signals.on(["files", "actions"], () => this.changes.stale());
    // Programs make and delete files without saying so: when one has gone quiet, or the person comes back, look again.
    const look = debounce(() => void this.files.refresh(), 50);
    this.desk.onQuiet = look;
    addEventListener("focus", look);
    this.changes.onCount = (count) => setText(this.changesTab, count ? `Changes (${count})` : "Changes");
  }

  private focusedFor = "";

  // The tour is an agent like others: it begins when it is spoken to.
  private async tour(): Promise<void> {
    const { desk } = this;
    let id = [...desk.model.agents.values()].find((agent) => agent.name === "tour" || agent.connector === "tour")?.id;
    if (!id) {
      const started = await desk.run("openspace.agent.start", { agent: "tour" });
      if (!started.success) return;
      id = started.sessionId;
    }
    desk.chosenAgent = id;
    if (this.narrow.shown) this.narrow.show("agent");
    await desk.run("openspace.agent.prompt", { sessionId: id, text: "Show me around." });
  }

  private async create(path: string): Promise<void> {
    const answer = await this.desk.run("openspace.file.write", { path, content: "", expectedVersion: "absent" });
    if (answer.success) void this.dock.openFile(path);
  }

  private newTerminal(): void {
    if (this.narrow.shown) this.narrow.show("terminal");
    void this.dock.newTerminal();
  }

  private showTab(tab: "agent" | "changes"): void {
    const agent = tab === "agent";
    this.agentTab.setAttribute("aria-selected", String(agent));
    this.changesTab.setAttribute("aria-selected", String(!agent));
    this.agentTab.tabIndex = agent ? 0 : -1;
    this.changesTab.tabIndex = agent ? -1 : 0;
    this.chat.element.hidden = !agent;
    this.changes.element.hidden = agent;
    if (!agent) this.changes.shown();
    this.questions.render();
  }

  private agentVisible(): boolean {
    const place = this.narrow.shown;
    return (place ? place === "agent" : this.sides.shown("right")) && !this.chat.element.hidden;
  }

  private toggleSide(side: "left" | "right"): void {
    this.sides.toggle(side);
    this.questions.render();
  }

  // What a command about "this one" means now.
  private context(name: string): string | undefined {
    const tab = this.dock.active();
    if (name === "sessionId") return this.desk.agent() || undefined;
    if (name === "terminalId") return tab?.type === "terminal" ? tab.content : undefined;
    if (name === "path") return tab?.type === "editor" ? tab.content : undefined;
    if (name === "paneId") return tab?.id;
    return undefined;
  }

  // What only concerns this page and is therefore no command of the workbench.
  private localItems(): Item[] {
    const { desk } = this;
    const done = (run: () => void) => () => {
      document.querySelector<HTMLDialogElement>("dialog.palette")?.dispatchEvent(new Event("cancel", { cancelable: true }));
      run();
    };
    const item = (label: string, run: () => void, key?: string): Item => ({ label, note: "page", ...(key ? { key } : {}), run: done(run) });
    const themes = (["system", "dark", "light", "contrast"] as const).map((choice) =>
      item(`Colours: ${choice === "contrast" ? "high contrast" : choice}`, () => desk.theme.set(choice)),
    );
    return [
      ...themes,
      item("Screen reader mode in terminals", () => this.toggleScreenReader()),
      item("Search in the terminal", () => this.activeTerminal()?.openFind(), "Ctrl Shift F"),
      item("Show the highlights", () => this.activeEditor()?.showPeek()),
      item("Show my last action as a command", () => this.activity.showMine()),
      item("Show or hide the files", () => this.toggleSide("left"), "Ctrl B"),
      item("Show or hide the agent", () => this.toggleSide("right"), "Ctrl Alt B"),
      item("Write to the agent", () => this.writeToAgent()),
      item("Toggle following the agent", () => desk.setFollowing(!desk.following)),
      item("Change what the agent may do", () => void changeConsent(desk, desk.agent())),
      item("Show the changes", () => this.showChanges()),
      item("Close all agent terminals", () => void this.closeAgentTerminals()),
      item("Notify me about questions", () => void Notification.requestPermission()),
      item("Help", () => showHelp(desk)),
    ];
  }

  // A side that is hidden has no place for the keyboard.
  private showAgentSide(tab: "agent" | "changes"): void {
    if (this.narrow.shown) this.narrow.show("agent");
    else if (!this.sides.shown("right")) this.sides.toggle("right");
    this.showTab(tab);
  }

  private writeToAgent(): void {
    this.showAgentSide("agent");
    this.chat.focus();
  }

  private showChanges(): void {
    this.showAgentSide("changes");
    this.changesTab.focus();
  }

  private async closeAgentTerminals(): Promise<void> {
    for (const terminal of this.desk.model.terminals.values()) {
      if (terminal.owner.startsWith("session_")) {
        await this.desk.run("openspace.terminal.close", { terminalId: terminal.id });
      }
    }
  }

  private toggleScreenReader(): void {
    const on = localStorage.getItem("fourhands.screenReader") !== "1";
    if (on) localStorage.setItem("fourhands.screenReader", "1");
    else localStorage.removeItem("fourhands.screenReader");
    for (const view of Object.values(this.terminals())) view.setScreenReader(on);
    this.desk.toasts.show(`Screen reader mode is ${on ? "on" : "off"}`);
  }

  private activeEditor(): EditorView | undefined {
    const tab = this.dock.active();
    const view = tab && this.dock.view(tab.type, tab.content);
    return view instanceof EditorView ? view : undefined;
  }

  private activeTerminal(): TerminalView | undefined {
    const tab = this.dock.active();
    const view = tab && this.dock.view(tab.type, tab.content);
    return view instanceof TerminalView ? view : undefined;
  }

  // Called after each snapshot.
  connected(): void {
    for (const view of Object.values(this.terminals())) view.retry();
    void this.files.refresh();
    this.changes.stale();
  }

  terminals(): Record<string, TerminalView> {
    const found: Record<string, TerminalView> = {};
    for (const view of this.dock.views.values()) if (view instanceof TerminalView) found[view.id] = view;
    return found;
  }

  editors(): Record<string, EditorView> {
    const found: Record<string, EditorView> = {};
    for (const view of this.dock.views.values()) if (view instanceof EditorView) found[view.path] = view;
    return found;
  }
}
