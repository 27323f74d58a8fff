// All that the page knows, built from one snapshot and the events after it. It decides nothing and has no browser in it.
//
// The revision rule: a change at or below the revision we have is old and ignored; one further ahead than the next
// means that something was missed, and a snapshot is asked for.

import type {
  Action,
  Draft,
  Editor,
  Event,
  EventOf,
  Highlight,
  Layout,
  OpenPort,
  Question,
  RehearsalChanged,
  SandboxInfo,
  SessionInfo,
  StateChange,
  TerminalInfo,
  Everything,
} from "../wire/types.ts";
import { Chat, readPlan } from "./chat.ts";
import { tabs } from "./geometry.ts";
import { type Offer, readOffers } from "./offers.ts";
import { type Manifest, type ManifestCommand, readCommands } from "./schema.ts";
import { Signals } from "./signal.ts";
import { type Step, withStep, worthListing } from "./steps.ts";
import { toolNews } from "./tool.ts";

export type Topic =
  | "layout"
  | "editors"
  | "drafts"
  | "highlights"
  | "terminals"
  | "agents"
  | "questions"
  | "rehearsals"
  | "ports"
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

type ChangeEvent = Extract<Event, { data: StateChange }>;

// Only a change of the state has a revision.
const isChange = (event: Event): event is ChangeEvent => typeof event.revision === "number";

function without<V>(map: ReadonlyMap<string, V>, key: string): Map<string, V> {
  const rest = new Map(map);
  rest.delete(key);
  return rest;
}

const sentence = ({ error, hint }: { error: string; hint: string }): string => [error, hint].filter(Boolean).join(" — ");

export class Model {
  readonly signals = new Signals<Topic>();
  rev = -1;
  workspace = "";
  program = "fourhands"; // the command that calls it in the workspace
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
  rehearsals = new Map<string, RehearsalChanged>(); // by question: how its rehearsal is, as far as it was told since the page came
  ports = new Map<string, OpenPort>(); // of programs in sandboxes, by session and port
  actions: Action[] = [];
  activity: Step[] = [];
  chats = new Map<string, Chat>();
  commands = new Map<string, ManifestCommand>();
  manifestVersion = "";
  sandbox: SandboxInfo | null = null; // of agents' programs; null while it is being found out
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

  // Whether this call needs the person's signature.
  needsHand(command: string, args: Record<string, unknown>): boolean {
    const hand = this.commands.get(command)?.hand ?? false;
    return Array.isArray(hand) ? hand.some((name) => args[name] !== undefined && args[name] !== null) : hand;
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
    this.sandbox = all.sandbox;
    this.warnings = all.warnings;
    const topics = new Set<Topic>(["terminals", "layout", "editors", "drafts", "highlights", "agents", "questions", "actions"]);
    if (this.following === since) this.following = null;
    for (const event of since) this.settle(event, topics);
    this.signals.fire(topics);
  }

  // All open ports, as the server lists them.
  setPorts(all: readonly OpenPort[]): void {
    this.ports = new Map(all.map((one) => [`${one.session} ${one.port}`, one]));
    this.signals.fire(new Set<Topic>(["ports"]));
  }

  apply(event: Event): void {
    const topics = new Set<Topic>();
    if (event.kind === "events.missed") {
      this.onMissed();
      return;
    }
    this.following?.push(event);
    if (isChange(event)) {
      if (this.rev < 0 || event.data.rev <= this.rev) return; // without a state there is nothing to change
      if (event.data.rev > this.rev + 1) {
        this.onMissed();
        return;
      }
      this.change(event.data, topics);
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
    if (isChange(event)) {
      if (event.data.rev === this.rev + 1) this.change(event.data, topics);
      return;
    }
    switch (event.kind) {
      case "terminal.created":
      case "terminal.changed":
      case "terminal.resized":
      case "terminal.paused":
      case "terminal.resumed":
      case "terminal.exited":
        this.terminals = new Map(this.terminals).set(event.data.terminal.id, event.data.terminal);
        topics.add("terminals");
        break;
      case "terminal.closed":
        this.terminals = without(this.terminals, event.data.terminalId);
        topics.add("terminals");
        break;
      case "sandbox.changed":
        this.sandbox = event.data.sandbox;
        topics.add("connection");
        break;
      case "question.asked":
        this.questions = new Map(this.questions).set(event.data.id, event.data);
        topics.add("questions");
        break;
      case "question.answered":
      case "question.expired":
      case "question.withdrawn":
        this.questions = without(this.questions, event.data.id);
        this.rehearsals = without(this.rehearsals, event.data.id);
        topics.add("questions");
        break;
      case "question.held": {
        const held = this.questions.get(event.data.id);
        if (held) this.questions = new Map(this.questions).set(held.id, { ...held, deadline: null, limitSeconds: null });
        topics.add("questions");
        break;
      }
      case "rehearsal.changed":
        if (this.questions.has(event.data.question)) this.rehearsals = new Map(this.rehearsals).set(event.data.question, event.data);
        topics.add("rehearsals");
        break;
      case "port.opened":
        this.ports = new Map(this.ports).set(`${event.data.session} ${event.data.port}`, event.data);
        topics.add("ports");
        break;
      case "port.closed":
        this.ports = without(this.ports, `${event.data.session} ${event.data.port}`);
        topics.add("ports");
        break;
      case "agent.started":
        this.agents = new Map(this.agents).set(event.data.session.id, event.data.session);
        if (event.data.session.allowedBy) this.onNotice(`${event.data.session.name}: ${event.data.session.allowedBy}`);
        topics.add("agents");
        break;
      case "agent.ended":
        this.agents = without(this.agents, event.data.session);
        topics.add("agents");
        break;
      case "agent.paused":
      case "agent.resumed":
        this.setAgent(event.data.session, () => ({ paused: event.kind === "agent.paused" }), topics);
        break;
      case "agent.changed": {
        const { session, status, state, title, isolation, rung } = event.data;
        const placed = isolation === undefined ? {} : { isolation, rung: rung ?? "" };
        this.setAgent(session, () => ({ status, ...(state ? { state } : {}), ...(title ? { title } : {}), ...placed }), topics);
        break;
      }
      case "agent.attached":
      case "agent.detached": {
        const { session, terminalId, title } = event.data;
        const added = event.kind === "agent.attached" ? [{ terminalId, title }] : [];
        this.setAgent(session, (agent) => ({ attached: [...agent.attached.filter((one) => one.terminalId !== terminalId), ...added] }), topics);
        break;
      }
      case "agent.consented": {
        const { session, consent, scopes, allowedBy } = event.data;
        this.setAgent(session, () => ({ consent, scopes, allowedBy }), topics);
        break;
      }
      case "turn.started":
      case "turn.finished":
      case "turn.changed":
        topics.add("files"); // what programs changed is known now
        break;
      case "action.done":
      case "action.undone":
      case "action.redone":
        topics.add("actions");
        this.onActions();
        break;
    }
  }

  private setAgent(id: string, change: (agent: SessionInfo) => Partial<SessionInfo>, topics: Set<Topic>): void {
    const agent = this.agents.get(id);
    if (agent) this.agents = new Map(this.agents).set(id, { ...agent, ...change(agent) });
    topics.add("agents");
  }

  private tell(event: Event, topics: Set<Topic>): void {
    this.settle(event, topics);
    switch (event.kind) {
      case "call.started":
      case "call.finished":
        this.tellCall(event, topics);
        break;
      case "file.changed":
        this.onFileChanged(event.data.path, event.data.version);
        topics.add("files");
        break;
      case "host.replaced":
        this.onNotice(event.data.text);
        break;
      case "presence.changed":
        this.browsers = event.data.browsers;
        topics.add("presence");
        break;
      case "manifest.changed":
        this.onManifest();
        break;
      default:
        this.tellAgent(event, topics);
    }
  }

  onActions: () => void = () => {};
  onManifest: () => void = () => {};
  onOdd: (text: string) => void = () => {}; // something in the manifest cannot be used

  private tellAgent(event: Event, topics: Set<Topic>): void {
    switch (event.kind) {
      case "agent.started":
        break;
      case "agent.ended":
        this.chat(event.data.session).notice("The session has ended.");
        this.offers.delete(event.data.session);
        this.titles.delete(event.data.session);
        break;
      case "agent.stopped":
        this.chat(event.data.session).notice("Stopped.");
        topics.add("agents");
        break;
      case "agent.offered":
        this.offers.set(event.data.session, readOffers(event.data.commands));
        return;
      case "agent.titled":
        this.titles.set(event.data.session, event.data.title);
        topics.add("agents");
        return;
      case "agent.used": {
        const { session, used, size } = event.data;
        if (typeof used === "number") this.usage.set(session, { used, size: typeof size === "number" ? size : 0 });
        topics.add("agents");
        return;
      }
      case "agent.reset":
        this.chat(event.data.session).clear();
        this.titles.delete(event.data.session);
        topics.add("agents");
        break;
      case "agent.asked":
        this.chat(event.data.session).you(event.data.text, false, `you:${event.data.messageId}`);
        break;
      case "agent.noted":
        this.chat(event.data.session).notice(event.data.text);
        break;
      case "agent.planned":
        this.chat(event.data.session).plan(readPlan(event.data.entries));
        break;
      case "agent.said":
        this.chat(event.data.session).said("said", event.data.text, event.data.messageId, event.data.done);
        break;
      case "agent.thought":
        this.chat(event.data.session).said("thought", event.data.text, event.data.messageId, false);
        break;
      case "agent.step":
        this.chat(event.data.session).tool(event.data.stepId, toolNews(event.data));
        break;
      case "agent.switched":
        if (!event.data.modes && typeof event.data.mode === "string") this.chat(event.data.session).notice(`Mode: ${event.data.mode}`);
        break;
      case "agent.exited":
        this.chat(event.data.session).notice(sentence(event.data) || "The agent ended.", true);
        break;
      case "agent.failed":
        if (event.data.code === "stopped") return;
        this.chat(event.data.session).notice(sentence(event.data) || "The agent failed.", true);
        break;
      default:
        return;
    }
    topics.add("chat");
  }

  private tellCall(event: EventOf<"call.started"> | EventOf<"call.finished">, topics: Set<Topic>): void {
    const { data } = event;
    const end = event.kind === "call.finished" ? event.data : null;
    const callId = data.callId ?? "";
    const before = this.calls.get(callId);
    const step: Step = {
      callId,
      command: data.command,
      session: data.session,
      actorKind: event.actor?.kind ?? "system",
      actorName: event.actor?.name ?? "",
      args: data.args ?? before?.args ?? {},
      whole: data.args !== undefined && data.argsCut !== true,
      state: !end ? "running" : end.ok ? "done" : "failed",
      error: end?.error ?? "",
      code: end?.code ?? "",
      edge: end?.edge ?? false,
      recorded: end?.recorded ?? true,
      time: before?.time ?? event.time,
      count: 1,
    };
    if (end) this.calls.delete(callId);
    else this.calls.set(callId, step);
    // Before the manifest is there, what the page itself reads would be listed as the person's doing.
    const readOnly = this.commands.get(step.command)?.readOnly ?? true;
    if (worthListing(step, readOnly)) {
      this.activity = withStep(this.activity, step);
      topics.add("activity");
    }
    if (step.session && step.actorKind === "agent") {
      this.chat(step.session).step(step);
      topics.add("chat");
    }
    if (this.replaying || !end) return;
    if (this.unrecorded === step.recorded) {
      this.unrecorded = !step.recorded;
      topics.add("connection");
    }
    if (!end.ok && end.severity !== "info") {
      this.onFailure({ text: end.error, severity: end.severity, command: end.command }, step);
    }
  }

  // What a thing is called, for any id that calls carry.
  title = (id: string): string => {
    if (!id) return "";
    const terminal = this.terminals.get(id);
    if (terminal) return terminal.title;
    const agent = this.agents.get(id);
    if (agent) return agent.title || agent.name;
    const tab = tabs(this.layout.root).find((one) => one.tab.id === id)?.tab;
    if (tab) return this.terminals.get(tab.content)?.title ?? tab.title;
    return id.includes("_0") || /^[a-z]+_[0-9A-Z]{20,}$/.test(id) ? "" : id;
  };
}
