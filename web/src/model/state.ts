// All that the page knows, built from one snapshot and the events after it. It decides nothing and has no browser in it.
//
// The revision rule: a change at or below the revision we have is old and ignored; one further ahead than the next
// means that something was missed, and a snapshot is asked for.

import type {
  Action,
  AttachedTerminal,
  StateChange,
  Draft,
  Editor,
  Event,
  Highlight,
  Layout,
  Question,
  SessionInfo,
  TerminalInfo,
  Everything,
} from "../wire/types.ts";
import { Chat } from "./chat.ts";
import { tabs } from "./geometry.ts";
import { type Offer, readOffers } from "./offers.ts";
import { type Manifest, type ManifestCommand, readCommands } from "./schema.ts";
import { Signals } from "./signal.ts";
import { type CallSummary, type Step, worthListing } from "./steps.ts";
import { toolNews } from "./tool.ts";

export type Topic =
  | "layout"
  | "editors"
  | "drafts"
  | "highlights"
  | "terminals"
  | "agents"
  | "questions"
  | "actions"
  | "activity"
  | "chat"
  | "files"
  | "manifest"
  | "presence"
  | "connection";

export interface Failure {
  text: string;
  severity: string;
  command: string;
}

// Each agent's chat as the events that made it, and the time that they are of.
export interface KeptChats {
  time: number;
  chats: Record<string, Event[]>;
}

const LISTED = 300;

export class Model {
  readonly signals = new Signals<Topic>();
  rev = -1;
  workspace = "";
  program = "fourhands"; // what somebody types in the workspace to call it
  me = "";
  browsers = 1;
  layout: Layout = { root: null, activePane: null };
  editors = new Map<string, Editor>();
  drafts = new Map<string, Draft>();
  staleDrafts = new Set<string>(); // another browser typed: the text is asked for when it is needed
  highlights = new Map<string, Highlight>();
  terminals = new Map<string, TerminalInfo>();
  agents = new Map<string, SessionInfo>();
  readonly usage = new Map<string, { used: number; size: number }>(); // of its context, as an agent says
  readonly offers = new Map<string, readonly Offer[]>(); // commands for messages to it, as an agent says
  readonly titles = new Map<string, string>(); // of its chat, as an agent says
  questions = new Map<string, Question>();
  actions: Action[] = [];
  activity: Step[] = [];
  chats = new Map<string, Chat>();
  commands = new Map<string, ManifestCommand>();
  manifestVersion = "";
  warnings = true; // whether messages that are warnings are shown
  unrecorded = false; // whether the last call could not be written to the journal

  // Called when events were missed and the whole state is wanted again.
  onMissed: () => void = () => {};
  onFailure: (failure: Failure, step: Step) => void = () => {};
  onNotice: (text: string) => void = () => {};
  onFileChanged: (path: string, version: string | null) => void = () => {};
  private calls = new Map<string, Step>();
  private recording: Event[] | null = null;
  private following: Event[] | null = null;
  private replaying = false;

  chat(session: string): Chat {
    let chat = this.chats.get(session);
    if (!chat) this.chats.set(session, (chat = new Chat()));
    return chat;
  }

  // From now on, what is told is also remembered, until `restoreChats` has put it on top of what the server kept.
  recordChats(): Event[] {
    return (this.recording = []);
  }

  restoreChats(kept: KeptChats, since: Event[]): void {
    if (this.recording !== since) return; // they were asked for again meanwhile: this is the older answer
    this.recording = null;
    const topics = new Set<Topic>(["chat"]);
    const unsent = [...this.chats].map(([id, chat]) => [id, chat.unsent()] as const);
    this.chats = new Map();
    this.replaying = true;
    for (const event of Object.values(kept.chats).flat()) this.tell(event, topics);
    for (const event of since) if (event.time > kept.time) this.tell(event, topics);
    this.replaying = false;
    for (const [id, items] of unsent) this.chat(id).items.push(...items);
    this.signals.fire(topics);
  }

  setManifest(manifest: Manifest): void {
    const commands = readCommands(manifest.commands, this.onOdd);
    if (!commands) return;
    this.manifestVersion = manifest.version;
    this.commands = new Map(commands.map((command) => [command.id, command]));
    this.signals.fire(["manifest"]);
  }

  // From now on, what is told is also remembered: a state that was asked for may be from before it and arrive after it.
  follow(): Event[] {
    return (this.following = []);
  }

  // `since`: what `follow` remembered while this was on its way. Only the state takes it again, chats and lists have it.
  reset(all: Everything, since: Event[] = []): void {
    this.workspace = all.workspace;
    this.program = all.program;
    this.rev = all.state.rev;
    this.layout = all.state.layout;
    this.editors = new Map(all.state.editors.map((editor) => [editor.path, editor]));
    this.drafts = new Map(all.state.drafts.map((draft) => [draft.path, draft]));
    this.staleDrafts.clear();
    this.highlights = new Map(all.state.highlights.map((mark) => [mark.id, mark]));
    this.terminals = new Map(all.terminals.map((terminal) => [terminal.id, terminal]));
    this.agents = new Map(all.agents.map((agent) => [agent.id, agent]));
    this.questions = new Map(all.questions.map((question) => [question.id, question]));
    this.actions = all.actions;
    this.warnings = all.warnings;
    const topics = new Set<Topic>(["terminals", "layout", "editors", "drafts", "highlights", "agents", "questions", "actions"]);
    if (this.following === since) this.following = null;
    for (const event of since) this.settle(event, topics);
    this.signals.fire(topics);
  }

  apply(event: Event): void {
    const topics = new Set<Topic>();
    if (event.kind === "events.missed") {
      this.onMissed();
      return;
    }
    this.following?.push(event);
    if (event.revision !== null && event.revision !== undefined) {
      if (this.rev < 0 || event.revision <= this.rev) return; // without a state there is nothing to change
      if (event.revision > this.rev + 1) {
        this.onMissed();
        return;
      }
      this.change(event.data as unknown as StateChange, topics);
    } else {
      if (event.kind.startsWith("agent.") || event.kind.startsWith("call.")) this.recording?.push(event);
      this.tell(event, topics);
    }
    this.signals.fire(topics);
  }

  private change(change: StateChange, topics: Set<Topic>): void {
    this.rev = change.rev;
    if (change.layout) {
      this.layout = change.layout;
      topics.add("layout");
    }
    if (change.editors?.length || change.closedEditors?.length) {
      const editors = new Map(this.editors);
      for (const path of change.closedEditors ?? []) editors.delete(path);
      for (const editor of change.editors ?? []) editors.set(editor.path, editor);
      this.editors = editors;
      topics.add("editors");
    }
    for (const path of change.drafts ?? []) {
      this.staleDrafts.add(path);
      if (!this.editors.get(path)?.dirty) this.drafts.delete(path);
      topics.add("drafts");
    }
    if (change.highlights?.length || change.clearedHighlights?.length) {
      const marks = new Map(this.highlights);
      for (const id of change.clearedHighlights ?? []) marks.delete(id);
      for (const mark of change.highlights ?? []) marks.set(mark.id, mark);
      this.highlights = marks;
      topics.add("highlights");
    }
  }

  // The part of an event that the state of the workbench has too.
  private settle(event: Event, topics: Set<Topic>): void {
    const [noun = "", past = ""] = event.kind.split(".");
    if (typeof event.revision === "number") {
      if (event.revision === this.rev + 1) this.change(event.data as unknown as StateChange, topics);
    } else if (noun === "terminal") {
      this.tellTerminal(past, event.data, topics);
    } else if (noun === "question") {
      this.tellQuestion(past, event.data, topics);
    } else if (noun === "agent") {
      this.tellSession(past, event.data, topics);
    } else if (noun === "action") {
      topics.add("actions");
      this.onActions();
    }
  }

  private tell(event: Event, topics: Set<Topic>): void {
    const [noun, past] = event.kind.split(".");
    const data = event.data;
    this.settle(event, topics);
    switch (noun) {
      case "agent":
        this.tellAgent(past ?? "", data, topics);
        break;
      case "call":
        this.tellCall(event, topics);
        break;
      case "file":
        this.onFileChanged(String(data.path), (data.version as string | null) ?? null);
        topics.add("files");
        break;
      case "host":
        this.onNotice(String(data.text ?? ""));
        break;
      case "presence":
        this.browsers = Number(data.browsers ?? 1);
        topics.add("presence");
        break;
      case "manifest":
        this.onManifest();
        break;
    }
  }

  onActions: () => void = () => {};
  onManifest: () => void = () => {};
  onOdd: (text: string) => void = () => {}; // something in the manifest cannot be used

  private tellTerminal(past: string, data: Record<string, unknown>, topics: Set<Topic>): void {
    const terminals = new Map(this.terminals);
    if (past === "closed") {
      terminals.delete(String(data.terminalId));
    } else if (data.terminal) {
      const terminal = data.terminal as TerminalInfo;
      terminals.set(terminal.id, terminal);
    }
    this.terminals = terminals;
    topics.add("terminals");
  }

  private tellQuestion(past: string, data: Record<string, unknown>, topics: Set<Topic>): void {
    const questions = new Map(this.questions);
    if (past === "asked") {
      const question = data as unknown as Question;
      questions.set(question.id, question);
    } else {
      questions.delete(String(data.id));
    }
    this.questions = questions;
    topics.add("questions");
  }

  private tellSession(past: string, data: Record<string, unknown>, topics: Set<Topic>): void {
    const agents = new Map(this.agents);
    const set = (change: Partial<SessionInfo>) => {
      const agent = agents.get(String(data.session ?? ""));
      if (agent) agents.set(agent.id, { ...agent, ...change });
    };
    if (past === "started") {
      const session = data.session as SessionInfo;
      agents.set(session.id, session);
    } else if (past === "ended") {
      agents.delete(String(data.session ?? ""));
    } else if (past === "paused" || past === "resumed") {
      set({ paused: past === "paused" });
    } else if (past === "changed") {
      const state = data.state as SessionInfo["state"] | undefined;
      set({ status: String(data.status ?? ""), ...(state ? { state } : {}) });
    } else if (past === "attached" || past === "detached") {
      const { terminalId, title } = data as unknown as AttachedTerminal;
      const others = (agents.get(String(data.session ?? ""))?.attached ?? []).filter((one) => one.terminalId !== terminalId);
      set({ attached: past === "attached" ? [...others, { terminalId, title }] : others });
    } else if (past === "consented") {
      const { consent, scopes } = data as unknown as Pick<SessionInfo, "consent" | "scopes">;
      set({ consent, scopes });
    } else {
      return;
    }
    this.agents = agents;
    topics.add("agents");
  }

  private tellAgent(past: string, data: Record<string, unknown>, topics: Set<Topic>): void {
    const id = String(data.session ?? "");
    const text = String(data.text ?? "");
    switch (past) {
      case "started":
        topics.add("chat");
        break;
      case "ended":
        this.chat(id).notice("The session has ended.");
        this.offers.delete(id);
        this.titles.delete(id);
        topics.add("chat");
        break;
      case "stopped":
        this.chat(id).notice("Stopped.");
        topics.add("chat").add("agents");
        break;
      case "offered":
        this.offers.set(id, readOffers(data.commands));
        break;
      case "titled":
        this.titles.set(id, String(data.title ?? ""));
        topics.add("agents");
        break;
      case "reset":
        this.chat(id).clear();
        this.titles.delete(id);
        topics.add("agents");
        topics.add("chat");
        break;
      case "asked":
        this.chat(id).you(text, false, `you:${String(data.messageId ?? "")}`);
        topics.add("chat");
        break;
      case "noted":
        this.chat(id).notice(text);
        topics.add("chat");
        break;
      case "planned":
        if (Array.isArray(data.entries)) this.chat(id).plan(data.entries as { content: string; status: string }[]);
        topics.add("chat");
        break;
      case "said":
        this.chat(id).said("said", text, String(data.messageId ?? ""), data.done === true);
        topics.add("chat");
        break;
      case "thought":
        this.chat(id).said("thought", text, String(data.messageId ?? ""), data.done === true);
        topics.add("chat");
        break;
      case "step": {
        const key = String(data.stepId ?? `${data.messageId ?? ""}:${data.tool ?? ""}:${data.title ?? ""}`);
        this.chat(id).tool(key, toolNews(data));
        topics.add("chat");
        break;
      }
      case "used":
        if (typeof data.used === "number") this.usage.set(id, { used: data.used, size: typeof data.size === "number" ? data.size : 0 });
        topics.add("agents");
        break;
      case "switched":
        if (!data.modes && typeof data.mode === "string") this.chat(id).notice(`Mode: ${data.mode}`);
        topics.add("chat");
        break;
      case "exited":
        this.chat(id).notice([data.error, data.hint].filter(Boolean).join(" — ") || "The agent ended.", true);
        topics.add("chat");
        break;
      case "failed":
        if (data.code === "stopped") break;
        this.chat(id).notice([data.error, data.hint].filter(Boolean).join(" — ") || "The agent failed.", true);
        topics.add("chat");
        break;
    }
  }

  private tellCall(event: Event, topics: Set<Topic>): void {
    const data = event.data as unknown as CallSummary & { ok?: boolean; error?: string; code?: string; severity?: string; recorded?: boolean };
    const finished = event.kind === "call.finished";
    const before = this.calls.get(data.callId);
    const step: Step = {
      callId: data.callId,
      command: data.command,
      session: data.session,
      actorKind: event.actor?.kind ?? "system",
      actorName: event.actor?.name ?? "",
      args: data.args ?? before?.args ?? {},
      whole: data.args !== undefined && data.argsCut !== true,
      state: !finished ? "running" : data.ok ? "done" : "failed",
      error: data.error ?? "",
      code: data.code ?? "",
      recorded: data.recorded ?? true,
      time: before?.time ?? event.time,
      count: 1,
    };
    if (finished) this.calls.delete(data.callId);
    else this.calls.set(data.callId, step);
    // Before the manifest is there, what the page itself reads would be listed as the person's doing.
    const readOnly = this.commands.get(step.command)?.readOnly ?? true;
    if (worthListing(step, readOnly)) {
      this.list(step);
      topics.add("activity");
    }
    if (step.session && step.actorKind === "agent") {
      this.chat(step.session).step(step);
      topics.add("chat");
    }
    if (!this.replaying && finished && this.unrecorded === step.recorded) {
      this.unrecorded = !step.recorded;
      topics.add("connection");
    }
    if (!this.replaying && finished && data.ok === false && data.severity && data.severity !== "info") {
      this.onFailure({ text: data.error ?? "", severity: data.severity, command: data.command }, step);
    }
  }

  private list(step: Step): void {
    const at = this.activity.findIndex((one) => one.callId === step.callId);
    if (at >= 0) {
      this.activity = this.activity.with(at, step);
      return;
    }
    const last = this.activity[0];
    const same =
      last &&
      last.state === "failed" &&
      last.recorded === step.recorded &&
      step.state === "failed" &&
      last.command === step.command &&
      last.error === step.error &&
      last.session === step.session;
    if (same) this.activity = [{ ...step, count: last.count + 1 }, ...this.activity.slice(1)];
    else this.activity = [step, ...this.activity].slice(0, LISTED);
  }

  // What a thing is called, for any id that calls carry.
  title = (id: string): string => {
    if (!id) return "";
    const terminal = this.terminals.get(id);
    if (terminal) return terminal.title;
    const agent = this.agents.get(id);
    if (agent) return agent.name;
    const tab = tabs(this.layout.root).find((one) => one.tab.id === id)?.tab;
    if (tab) return this.terminals.get(tab.content)?.title ?? tab.title;
    return id.includes("_0") || /^[a-z]+_[0-9A-Z]{20,}$/.test(id) ? "" : id;
  };
}
