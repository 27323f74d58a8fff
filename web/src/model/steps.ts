// A call in words: what an actor did, for the activity list and the chat.

export type StepState = "waiting" | "running" | "done" | "failed";

export interface Step {
  callId: string;
  command: string;
  session: string | null;
  actorKind: string;
  actorName: string;
  args: Record<string, unknown>;
  whole: boolean; // whether the arguments are all there, so that it can be run again
  state: StepState;
  error: string;
  code: string;
  edge: boolean; // it may have failed because something lies outside the sandbox
  recorded: boolean; // whether the journal will tell of it
  time: number;
  count: number;
}

const CONCEALED = "[not kept]"; // in place of what a person typed, which may be a secret

const text = (value: unknown): string => (typeof value === "string" ? value : "");

const short = (line: string): string => (line.length > 80 ? `${line.slice(0, 79)}…` : line);

// The line that a tool of an agent runs, as far as it is to be seen.
function lineOf(args: Record<string, unknown>): string {
  const words = Array.isArray(args.args) ? args.args.filter((word): word is string => typeof word === "string") : [];
  return [text(args.command) || text(args.script), ...words].join(" ").trim();
}

export function lines(args: Record<string, unknown>): string {
  const ranges = Array.isArray(args.ranges) ? (args.ranges as { startLine?: number; endLine?: number }[]) : [];
  return ranges
    .map((range) => (range.startLine === range.endLine ? `${range.startLine}` : `${range.startLine}–${range.endLine}`))
    .join(", ");
}

// Two words of it: the verb in the past, and what it was done to (shown as code).
export function describe(step: Pick<Step, "command" | "args">, title: (id: string) => string): [string, string, string] {
  const { args } = step;
  const path = text(args.path);
  const terminal = title(text(args.terminalId));
  const pane = title(text(args.paneId));
  const in_ = terminal ? `in ${terminal}` : "";
  switch (step.command) {
    case "openspace.editor.open":
      return ["opened", args.line ? `${path}:${args.line}` : path, ""];
    case "openspace.tool.show":
      return ["showed", args.line ? `${path}:${args.line}` : path, ""];
    case "openspace.editor.scroll_to":
      return ["scrolled to", `${path}:${args.line}`, ""];
    case "openspace.editor.highlight":
      return ["highlighted", `${path}:${lines(args)}`, ""];
    case "openspace.editor.clear_highlight":
      return ["cleared", text(args.highlightId), ""];
    case "openspace.editor.clear_highlights":
    case "openspace.editor.escape":
      return ["cleared highlights", "", ""];
    case "openspace.editor.close":
      return ["closed", path, ""];
    case "openspace.editor.save":
      return ["saved", path, ""];
    case "openspace.editor.discard":
      return ["discarded changes of", path, ""];
    case "openspace.editor.read_file":
    case "openspace.file.read":
    case "openspace.tool.read":
      return ["read", path, ""];
    case "openspace.file.write":
    case "openspace.tool.write":
      return [args.append === true ? "added to" : "wrote", path, ""];
    case "openspace.file.edit":
    case "openspace.tool.edit":
      return ["edited", path, ""];
    case "openspace.file.list":
      return ["listed", text(args.path) || ".", ""];
    case "openspace.file.search":
    case "openspace.tool.search":
      return ["searched", text(args.query), ""];
    case "openspace.file.remove":
      return ["deleted", path, ""];
    case "openspace.pane.open":
      return ["opened", title(text(args.contentId)) || text(args.contentId), ""];
    case "openspace.pane.close":
      return ["closed", pane || text(args.paneId), ""];
    case "openspace.pane.focus":
      return ["focused", pane || text(args.paneId), ""];
    case "openspace.pane.resize":
    case "openspace.pane.set_sizes":
      return ["resized panes", "", ""];
    case "openspace.pane.move":
      return ["moved", pane || text(args.paneId), ""];
    case "openspace.pane.pin":
      return [args.pinned === false ? "unpinned" : "pinned", pane || text(args.paneId), ""];
    case "openspace.terminal.create":
      return ["started terminal", text(args.title), ""];
    case "openspace.terminal.send": {
      const line = text(args.text);
      if (line === CONCEALED) return ["typed", "", in_];
      const shown = line.replace(/[\r\n]+$/, "");
      return [line !== shown ? "ran" : "typed", short(shown), in_];
    }
    case "openspace.terminal.run":
      return ["ran", text(args.command), in_];
    case "openspace.tool.bash":
    case "openspace.tool.execute_command":
    case "openspace.tool.run_script":
    case "openspace.tool.terminal_start":
    case "openspace.terminal.exec":
    case "openspace.terminal.run_outside":
      return ["ran", short(lineOf(args)), step.command.endsWith("run_outside") ? "outside the sandbox" : ""];
    case "openspace.safety.set_asking":
      return [args.ask === "irreversible" ? "asks only about what cannot be undone" : "asks about everything dangerous", "", ""];
    case "openspace.terminal.read_output":
    case "openspace.terminal.screen":
      return ["read", terminal || text(args.terminalId), ""];
    case "openspace.terminal.wait":
      return ["waited for", terminal || text(args.terminalId), ""];
    case "openspace.terminal.close":
      return ["closed terminal", terminal || text(args.terminalId), ""];
    case "openspace.terminal.interrupt":
      return ["interrupted", terminal || text(args.terminalId), ""];
    case "openspace.terminal.take_over":
      return ["took the keyboard", "", in_];
    case "openspace.terminal.hand_back":
      return ["handed the keyboard back", "", in_];
    case "openspace.terminal.show":
      return ["showed", terminal || text(args.terminalId), ""];
    case "openspace.terminal.rename":
      return ["renamed", terminal, `to ${text(args.title)}`];
    case "openspace.workbench.undo":
      return ["undid the last action", "", ""];
    case "openspace.workbench.redo":
      return ["redid an action", "", ""];
    case "openspace.agent.start":
      return ["connected", text(args.agent), ""];
    case "openspace.agent.end":
      return ["ended", title(text(args.sessionId)) || "the agent", ""];
    case "openspace.agent.reset":
      return ["began a new chat", "", ""];
    case "openspace.change.keep":
      return [args.hunk === undefined ? "kept the changes of" : "kept a change of", path, ""];
    case "openspace.change.revert":
      return [args.hunk === undefined ? "reverted" : "reverted a change of", path, ""];
    case "openspace.turn.undo":
      return [args.preview ? "looked at what undoing a turn would do" : "undid a turn", "", ""];
    case "openspace.turn.redo":
      return ["redid a turn", "", ""];
    case "openspace.turn.keep":
      return ["kept a turn", "", ""];
    case "openspace.agent.stop":
      return [args.kill ? "killed" : "stopped", title(text(args.sessionId)) || "the agent", ""];
    case "openspace.agent.consent":
      return [args.allow ? "said what may be done by" : "took consent back from", title(text(args.sessionId)) || "the agent", ""];
    case "openspace.agent.attach":
      return ["attached", terminal, `to the chat of ${title(text(args.sessionId)) || "the agent"}`];
    case "openspace.agent.detach":
      return ["detached", terminal, `from the chat of ${title(text(args.sessionId)) || "the agent"}`];
    case "openspace.agent.pause":
      return ["paused", title(text(args.sessionId)) || "the agent", ""];
    case "openspace.agent.resume":
      return ["resumed", title(text(args.sessionId)) || "the agent", ""];
    case "openspace.workbench.answer":
      if (args.choice === "dismiss") return ["left a question without an answer", "", ""];
      if (args.values !== undefined) return ["filled in a form", "", ""];
      return [args.choice === "deny" ? "refused" : "allowed", text(args.choice) === "deny" ? text(args.reason) : `(${text(args.choice)})`, ""];
    default: {
      const [noun, verb] = step.command.split(".").slice(-2);
      return [`${noun ?? ""}: ${(verb ?? "").replaceAll("_", " ")}`, "", ""];
    }
  }
}

const LINES = new Set(["tool.bash", "tool.execute_command", "tool.run_script", "tool.terminal_start", "terminal.exec", "terminal.run_outside"].map((id) => `openspace.${id}`));

// The arguments with which a line of an agent runs outside the sandbox: one that met its edge, or that nobody allowed to.
export function outside(step: Step): Record<string, unknown> | null {
  const wanted = step.edge || (step.command === "openspace.terminal.run_outside" && (step.code === "denied" || step.code === "no-answer"));
  const line = text(step.args.command) || text(step.args.script);
  if (!wanted || !step.whole || !LINES.has(step.command) || !line) return null;
  const cwd = text(step.args.workingDirectory) || text(step.args.cwd);
  return { command: line, ...(Array.isArray(step.args.args) && step.args.args.length ? { args: step.args.args } : {}), ...(cwd ? { cwd } : {}) };
}

// What would only be noise in a list of what happened: the page's own reading, keys of the protocol.
const QUIET = new Set([
  "openspace.editor.set_draft",
  "openspace.terminal.resize",
  "openspace.agent.prompt",
]);

export function worthListing(step: Step, readOnly: boolean): boolean {
  if (step.actorKind === "agent" && step.state !== "failed") return true;
  return !QUIET.has(step.command) && (step.actorKind === "agent" || !readOnly);
}

const LISTED = 300;

// The list with a step, newest first: in its own place if it is there, and counted if it failed as the last one did.
export function withStep(activity: Step[], step: Step): Step[] {
  const at = activity.findIndex((one) => one.callId === step.callId);
  if (at >= 0) return activity.with(at, step);
  const last = activity[0];
  const same =
    last &&
    last.state === "failed" &&
    last.recorded === step.recorded &&
    step.state === "failed" &&
    last.command === step.command &&
    last.error === step.error &&
    last.session === step.session;
  return same ? [{ ...step, count: last.count + 1 }, ...activity.slice(1)] : [step, ...activity].slice(0, LISTED);
}

// How long ago, in as few letters as possible.
export function ago(seconds: number): string {
  if (seconds < 2) return "now";
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}
