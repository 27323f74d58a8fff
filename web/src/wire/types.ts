// Written by scripts/wire_types.py from the Python structs (make types). Do not change by hand.

/** One action as it is listed: done, undone (it may be done again), or final with the reason. */
export interface Action {
  callId: string;
  description: string;
  actor: string;
  status: "done" | "final" | "undone";
  reason: string | null;
}

/** An agent did something that can be undone. */
export interface ActionDone {
  callId: string;
  description: string;
}

/** A person redid an agent's action. */
export interface ActionRedone {
  callId: string;
  description: string;
}

/** A person undid an agent's action. */
export interface ActionUndone {
  callId: string;
  description: string;
}

/** The actions of agents, newest first. */
export interface Actions {
  actions: Action[];
}

/** The action that was undone or redone, and newer actions that cannot be. */
export interface ActionsUndone {
  action: Action;
  passed: Action[];
}

/** One terminal of the list; `position` is the one from which your next terminal_continue reads. */
export interface Active {
  sessionId: string;
  title: string;
  command: string;
  position: number;
  running: boolean;
  uptimeSeconds: number;
  exitCode: number | null;
  yours: boolean;
}

/** All terminals, and `text`, the same list as a table. */
export interface ActiveList {
  sessions: Active[];
  text: string;
}

/** An actor: a person, a program of theirs, an agent's session, or Fourhands itself. */
export interface Actor {
  kind: "agent" | "person" | "program" | "system";
  id: string;
  name: string;
}

/** A person has sent a message to an agent. */
export interface AgentAsked {
  session: string;
  text: string;
  messageId: string;
}

/** A terminal was attached to an agent's chat. */
export interface AgentAttached {
  session: string;
  terminalId: string;
  title: string;
}

/** An agent works, is idle or has failed, its settings are others, or its own process has begun or said its name. */
export interface AgentChanged {
  session: string;
  status: string;
  state?: SessionSettings;
  title?: string;
  isolation?: string;
  rung?: string;
}

/** The settings now, and what they come to over the defaults. */
export interface AgentConfigured {
  state: SessionSettings;
  effective: Record<string, unknown>;
}

/** Arguments of `openspace.agent.consent`. */
export interface AgentConsentArgs {
  sessionId: string;
  allow: boolean;
  scopes?: ("arrange" | "run" | "see" | "write")[] | null;
}

/** The consent of an agent is another: a person has given or revoked it, or its client's configuration gives it. */
export interface AgentConsented {
  session: string;
  consent: "denied" | "granted" | "unasked";
  scopes: ("arrange" | "run" | "see" | "write")[];
  allowedBy: string;
}

/** Arguments of `openspace.agent.delete_chat`. */
export interface AgentDeleteChatArgs {
  sessionId: string;
  chat: string;
}

/** A terminal is no longer attached to an agent's chat; `reason` is empty where a person detached it. */
export interface AgentDetached {
  session: string;
  terminalId: string;
  title: string;
  reason: string;
}

/** Arguments of `openspace.agent.drop_rule`. */
export interface AgentDropRuleArgs {
  sessionId: string;
  key: string;
}

/** An agent's process has ended; `code` is null where a signal ended it. */
export interface AgentExited {
  session: string;
  code: number | null;
  error: string;
  hint: string;
}

/** An agent could not start or could not finish a turn. */
export interface AgentFailed {
  session: string;
  error: string;
  hint: string;
  code: string;
}

/** An agent's turn is over: the reason in ACP's words, or "failed", and what it used as far as the agent tells. */
export interface AgentFinished {
  session: string;
  stopReason: string;
  usage: unknown;
  messageId?: string;
}

/** The agents that are here. */
export interface AgentList {
  agents: SessionInfo[];
}

/** Arguments of `openspace.agent.load_chat`. */
export interface AgentLoadChatArgs {
  sessionId: string;
  chat: string;
}

/** Arguments of `openspace.agent.models`. */
export interface AgentModelsArgs {
  endpoint: string;
}

/** A notice for an agent's chat. */
export interface AgentNoted {
  session: string;
  text: string;
}

/** An agent knows these commands in messages to it. */
export interface AgentOffered {
  session: string;
  commands: unknown;
}

/** A setting of the agent's own, such as its model. */
export interface AgentOption {
  id: string;
  name: string;
  kind: "boolean" | "select";
  value: string | boolean;
  description: string;
  category: string;
  choices: Choosable[];
}

/** An agent's calls wait until it is resumed. */
export interface AgentPaused {
  session: string;
}

/** An agent's plan is this now. */
export interface AgentPlanned {
  session: string;
  entries: unknown;
}

/** Arguments of `openspace.agent.prompt`. */
export interface AgentPromptArgs {
  sessionId: string;
  text: string;
}

/** An agent's chat begins anew. */
export interface AgentReset {
  session: string;
}

/** An agent's calls run again. */
export interface AgentResumed {
  session: string;
}

/** Text that an agent adds to a message; `done` ends the message. */
export interface AgentSaid {
  session: string;
  text: string;
  messageId: string;
  done: boolean;
}

/** Arguments of `openspace.agent.set_mode`. */
export interface AgentSetModeArgs {
  sessionId: string;
  mode: string;
}

/** Arguments of `openspace.agent.set_option`. */
export interface AgentSetOptionArgs {
  sessionId: string;
  option: string;
  value: string;
}

/** Arguments of `openspace.agent.sign_in`. */
export interface AgentSignInArgs {
  sessionId: string;
  method: string;
}

/** Arguments of `openspace.agent.start`. */
export interface AgentStartArgs {
  agent: string;
  cwd?: string | null;
}

/** The agent's session. */
export interface AgentStarted {
  sessionId: string;
}

/** A tool call of an agent's own, as far as it is described yet; a later event of the same `stepId` replaces it. */
export interface AgentStep {
  session: string;
  stepId: string;
  messageId?: string;
  tool?: unknown;
  status?: unknown;
  title?: unknown;
  input?: unknown;
  output?: unknown;
  content?: unknown;
  locations?: unknown;
}

/** Arguments of `openspace.agent.stop`. */
export interface AgentStopArgs {
  sessionId: string;
  kill?: boolean;
}

/** The number of commands that were dropped or cancelled. */
export interface AgentStopped {
  count: number;
}

/** A person stops an agent; with `kill`, its programs end and its consent is taken back. */
export interface AgentStopping {
  session: string;
  kill: boolean;
}

/** An agent is in another mode; at its start it also lists its modes. */
export interface AgentSwitched {
  session: string;
  mode: unknown;
  modes?: unknown;
}

/** Text that an agent adds to a thought. */
export interface AgentThought {
  session: string;
  text: string;
  messageId: string;
}

/** An agent has found a title for its chat. */
export interface AgentTitled {
  session: string;
  title: string;
}

/** A model has answered, and used so many tokens; `cost` is told where the endpoint says it or a price is set. */
export interface AgentUsage {
  session: string;
  model: string;
  inputTokens: number;
  outputTokens: number;
  cachedTokens: number;
  cost?: number;
  total: SessionUsage;
}

/** An agent has used so much of its context, and so much money. */
export interface AgentUsed {
  session: string;
  used: unknown;
  size: unknown;
  cost: unknown;
}

/** A narrow permission for the rest of a session. */
export interface AllowRule {
  key: string;
  text: string;
}

/** All of a session's rules. */
export interface AllowRuleList {
  rules: AllowRule[];
}

/** The person chose what they are asked about: every dangerous line, or only what cannot be undone. */
export interface AskingChanged {
  ask: "dangerous" | "irreversible";
}

/** The lines that a person is asked about: every `dangerous` one, or only what cannot be undone. */
export interface AskingInForce {
  ask: "dangerous" | "irreversible";
}

/** One part of a classified line, with its own level and reason. */
export interface AssessedPart {
  text: string;
  level: string;
  reason: string;
}

/** Arguments of `openspace.agent.attach` and `openspace.agent.detach`. */
export interface AttachTerminal {
  sessionId: string;
  terminalId: string;
}

/** All terminals that are attached to the chat now. */
export interface AttachedList {
  attached: AttachedTerminal[];
}

/** A terminal that a person attached to a chat. */
export interface AttachedTerminal {
  terminalId: string;
  title: string;
}

/** From this position on, until the next one, what was printed follows what this actor typed. */
export interface AuthorSpan {
  position: number;
  actor: string;
  kind: "agent" | "person";
  time: number;
}

/** The authors of a terminal's input, each with the position from which the output follows their typing. */
export interface Authors {
  ink: AuthorSpan[];
}

/** Arguments of `openspace.tool.bash`. */
export interface Bash {
  command: string;
  timeoutSeconds?: number | null;
  background?: boolean;
}

/** A command has finished. A block that could not be read never was a call: it has no id and no arguments. */
export interface CallFinished {
  command: string;
  session: string | null;
  ok: boolean;
  code: string;
  error: string;
  severity: "error" | "info" | "warning";
  durationMs: number;
  callId?: string;
  origin?: "acp" | "block" | "cli" | "http" | "mcp" | "model" | "python" | "socket";
  number?: number;
  args?: Record<string, unknown>;
  argsCut?: boolean;
  recorded?: boolean;
  edge?: boolean;
}

/** A command has started; `argsCut` is set where its arguments were shortened. */
export interface CallStarted {
  callId: string;
  command: string;
  session: string | null;
  origin: "acp" | "block" | "cli" | "http" | "mcp" | "model" | "python" | "socket";
  number: number;
  args: Record<string, unknown>;
  argsCut?: boolean;
}

/** An agent's calls were dropped or cancelled. */
export interface CallsStopped {
  session: string;
  count: number;
}

/** All of them by path; and turns: theirs, those that spoke to hosts, those without checkpoints. */
export interface ChangeList {
  changes: FileChange[];
  turns: Turn[];
  unavailable: string;
}

/** Arguments of `openspace.checkpoint.compare`. */
export interface CheckpointCompareArgs {
  before: string;
  after?: string | null;
}

/** A checkpoint: when it was taken, how long that took, and what it does not have. */
export interface CheckpointInfo {
  id: string;
  time: number;
  seconds: number;
  leftOut: LeftOut[];
}

/** Checkpoints, oldest first; `unavailable` says why there are none here at all. */
export interface CheckpointList {
  checkpoints: CheckpointInfo[];
  unavailable: string;
}

/** Arguments of `openspace.checkpoint.restore`. */
export interface CheckpointRestoreArgs {
  checkpoint: string;
}

/** The paths that were put back; `before` is a checkpoint from just before, with what was there. */
export interface CheckpointRestored {
  files: string[];
  refs: string[];
  conflicts: TurnConflict[];
  refConflicts: string[];
  before: string;
}

/** One of several things to choose from. */
export interface Choosable {
  id: string;
  name: string;
  description: string;
}

/** One simple command of a line; `words` are what the shell would make of it, as far as that can be said. */
export interface ClassifiedPart {
  text: string;
  level: "dangerous" | "safe" | "unknown";
  reason: string;
  words: string[];
}

/** The output of a terminal since the caller's last read. */
export interface Collected {
  id: string;
  sessionId: string;
  title: string;
  command: string;
  position: number;
  complete: boolean;
  reason: "exited" | "finished" | "input" | "maxInterval" | "settled";
  output: string;
  input: string | null;
  exitCode: number | null;
  signal: string | null;
  truncated: boolean;
  characters: number;
  lines: number;
  gap: [number, number] | null;
  screen: string[] | null;
  paneId: string | null;
  note: string;
  text: string;
}

/** The explanation. */
export interface CommandHelp {
  text: string;
}

/** A call of an announced command waits for an answer from the program outside that runs it. */
export interface CommandRequested {
  callId: string;
  commandId: string;
  sessionId: string;
  args: Record<string, unknown>;
  deadline: number;
  timeoutSeconds: number;
}

/** A call of an announced command no longer waits for an answer. */
export interface CommandWithdrawn {
  callId: string;
  commandId: string;
  sessionId: string;
  reason: string;
}

/** A path that differs: git's modes, empty where it is not there. */
export interface ComparedPath {
  path: string;
  before: string;
  after: string;
}

/** Paths that differ, and repositories whose HEAD, refs or index do. */
export interface Comparison {
  paths: ComparedPath[];
  repositories: string[];
}

/** Arguments of `openspace.agent.configure`: what is left out stays as it is. */
export interface ConfigureAgent {
  sessionId?: string | null;
  provider?: string | null;
  cropOutput?: number | null;
  timeoutSeconds?: number | null;
  minInterval?: number | null;
  settleInterval?: number | null;
  maxInterval?: number | null;
  reset?: boolean;
  cwd?: string | null;
  mode?: "auto" | "blocks" | "tools" | null;
}

/** Arguments of `openspace.terminal.create`. */
export interface CreateTerminal {
  title?: string | null;
  cwd?: string | null;
  shellPath?: string | null;
  cols?: number | null;
  rows?: number | null;
  env?: Record<string, string | null>;
  interactive?: boolean;
}

/** An agent as it describes itself: its modes, options and ways to sign in. */
export interface Described {
  program: string;
  title: string;
  mode: string;
  modes: Choosable[];
  options: AgentOption[];
  signIn: Choosable[];
  chats: boolean;
  trouble: string;
}

/** One name in a directory. A link is shown as a link, never followed; `modified` is in seconds since 1970. */
export interface DirectoryEntry {
  name: string;
  path: string;
  kind: "directory" | "file" | "link" | "other";
  size: number;
  modified: number;
}

/** A directory's entries. */
export interface DirectoryListing {
  files: DirectoryEntry[];
}

/** Text that a person typed and has not saved, and the version of the file that it started from. */
export interface Draft {
  path: string;
  text: string;
  baseVersion: string | null;
}

/** Arguments of `openspace.file.edit`. */
export interface EditFile {
  path: string;
  edits: TextEdit[];
  expectedVersion?: string | null;
}

/** Arguments of `openspace.tool.edit`. */
export interface EditText {
  path: string;
  edits: TextEdit[];
}

/** One open file. When `reveal` differs from what the page saw last, it scrolls to line and column again. */
export interface Editor {
  id: string;
  path: string;
  owner: string;
  line: number;
  column: number;
  reveal: number;
  version: string | null;
  dirty: boolean;
}

/** Arguments of `openspace.editor.clear_highlight`. */
export interface EditorClearHighlightArgs {
  highlightId: string;
}

/** Arguments of `openspace.editor.clear_highlights`. */
export interface EditorClearHighlightsArgs {
  mine?: boolean;
}

/** The editor and the pane that shows it. */
export interface EditorOpened {
  editorId: string;
  paneId: string;
  highlightId: string | null;
}

/** An editor. */
export interface EditorRef {
  path: string;
}

/** The version of the file now. */
export interface EditorSaved {
  version: string;
}

/** Arguments of `openspace.editor.scroll_to`. */
export interface EditorScrollToArgs {
  path: string;
  line: number;
}

/** Arguments of `openspace.editor.set_draft`. */
export interface EditorSetDraftArgs {
  path: string;
  text: string;
  baseVersion?: string | null;
}

/** Something that happened: `kind` is `noun.past`, `revision` the workbench's after it. */
export interface EventOf<Kind extends keyof Events> {
  kind: Kind;
  data: Events[Kind];
  revision: number | null;
  actor: Actor | null;
  time: number;
}

/** Events were dropped because the subscriber was too slow: it needs a snapshot. */
export interface EventsMissed {
  count: number;
}

/** The whole state, as a page that has just connected needs it. */
export interface Everything {
  workspace: string;
  program: string;
  state: Snapshot;
  terminals: TerminalInfo[];
  agents: SessionInfo[];
  questions: Question[];
  actions: Action[];
  manifestVersion: string;
  sandbox: SandboxInfo | null;
  warnings: boolean;
}

/** Arguments of `openspace.terminal.exec`. */
export interface Exec {
  command: string;
  args?: string[] | null;
  env?: Record<string, string | null>;
  cwd?: string | null;
  outputByteLimit?: number | null;
}

/** The terminal in which the program runs, and the pane that shows it. */
export interface ExecStarted {
  terminalId: string;
  title: string;
  paneId: string;
}

/** Arguments of `openspace.tool.execute_command`. */
export interface ExecuteCommand {
  command: string;
  args?: string[];
  input?: string | null;
  timeoutSeconds?: number;
  env?: Record<string, string | null>;
  workingDirectory?: string | null;
}

/** Arguments of `openspace.agent.help`. */
export interface ExplainCommand {
  command?: string | null;
}

/** One of the values that a field accepts. */
export interface FieldChoice {
  value: string;
  title: string;
  description: string;
}

/** A file that agents changed; the texts are absent where it did not exist, is binary or too large to show. */
export interface FileChange {
  path: string;
  session: string;
  agent: string;
  version: string;
  before: string | null;
  after: string | null;
  added: number;
  removed: number;
  shown: boolean;
  hunks: Hunk[];
  by: "command" | "shell";
  turn: string;
  note: string;
  runsByItself: boolean;
}

/** A command has written or removed a file; `version` is null where it is gone. */
export interface FileChanged {
  path: string;
  version: string | null;
}

/** A file's text, or a part of it, and the version of the whole; encoding base64 means: the bytes of no text. */
export interface FileContent {
  content: string;
  version: string;
  lines: number;
  encoding: string;
  offset: number | null;
  next: number | null;
  size: number | null;
}

/** The file's new version, how many places were changed, and what each edit did. */
export interface FileEdited {
  version: string;
  created: boolean;
  replaced: number;
  edits: Replaced[];
}

/** Arguments of `openspace.file.list`. */
export interface FileListArgs {
  path?: string;
}

/** One line that has the query. `line` and `column` count from 1, the column in characters. */
export interface FileMatch {
  path: string;
  line: number;
  column: number;
  text: string;
}

/** Arguments of `openspace.file.remove`. */
export interface FileRemoveArgs {
  path: string;
  expectedVersion?: string | null;
}

/** Arguments of `openspace.file.search`. */
export interface FileSearchArgs {
  query: string;
  includePattern?: string | null;
  excludePattern?: string | null;
}

/** Paths: matching names first, then files whose text matches. `reason` tells what cut it short, if anything. */
export interface FileSearchResult {
  results: string[];
  matches: FileMatch[];
  truncated: boolean;
  reason: string;
}

/** The editor and the pane that show it, and the name of the highlight. */
export interface FileShown {
  path: string;
  line: number | null;
  endLine: number | null;
  editorId: string;
  paneId: string;
  highlightId: string | null;
}

/** The file's new version. */
export interface FileWritten {
  version: string;
  created: boolean;
}

/** One field of a form. `least` and `most` bound a number, the length of a text, the count of choices. */
export interface FormField {
  name: string;
  kind: "boolean" | "choice" | "choices" | "integer" | "number" | "text";
  title: string;
  description: string;
  required: boolean;
  default: string | number | number | boolean | string[] | null;
  choices: FieldChoice[];
  least: number | null;
  most: number | null;
  pattern: string;
  format: "" | "date" | "date-time" | "email" | "uri";
  secret: boolean;
}

/** Lines that match, and names: the first of each, with how many there are. */
export interface FoundFiles {
  matches: FileMatch[];
  names: string[];
  lines: number;
  files: number;
  named: number;
  near: boolean;
  truncated: boolean;
  reason: string;
}

/** A line and the position at which it begins. */
export interface FoundLine {
  position: number;
  line: string;
}

/** Lines that matched, the newest last. */
export interface FoundLines {
  matches: FoundLine[];
}

/** A rectangle in percent of the workbench area. */
export interface Geometry {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Ranges of one file in one colour (the owner's own, if none is given), until they are cleared. */
export interface Highlight {
  id: string;
  path: string;
  ranges: Range[];
  owner: string;
  color: string | null;
  label: string | null;
}

/** The open editors and their highlights. */
export interface HighlightList {
  editors: Editor[];
  highlights: Highlight[];
}

/** The name under which it can be cleared. */
export interface Highlighted {
  highlightId: string;
}

/** The terminal host died with these terminals, and another has taken its place. */
export interface HostReplaced {
  text: string;
  terminals: string[];
}

/** One host as a session has used it; bytes `up` are those that left, `by` is what let the last connection through. */
export interface HostTraffic {
  host: string;
  connections: number;
  refused: number;
  up: number;
  down: number;
  last: number;
  by: string;
}

/** Lines that were exchanged: where they begin in each text, from 0, and how many there are in each. */
export interface Hunk {
  beforeStart: number;
  beforeLines: number;
  afterStart: number;
  afterLines: number;
}

/** The position from which to read only what the text caused; `note` reports a line that waits for its Enter. */
export interface KeysSent {
  position: number;
  note: string;
}

/** Arguments of `openspace.terminal.kill`. */
export interface KillExec {
  terminalId: string;
}

/** The whole tree and the pane in use; both are absent when nothing is open. */
export interface Layout {
  root: Pane | Split | null;
  activePane: string | null;
}

/** The keyboard as others see it. */
export interface LeaseInfo {
  holder: string;
  kind: "" | "agent" | "person";
  kept: boolean;
  halfTyped: boolean;
  secret: boolean;
}

/** A file or directory that a checkpoint does not have, and why. */
export interface LeftOut {
  path: string;
  why: string;
}

/** A path that was not written, and why. */
export interface LeftPath {
  path: string;
  reason: string;
}

/** The level of a line, the reason, and the commands that it consists of. */
export interface LineClassified {
  level: "dangerous" | "safe" | "unknown";
  reason: string;
  commands: ClassifiedPart[];
}

/** Lines from 1, both ends included. */
export interface LineRange {
  startLine: number;
  endLine: number;
}

/** The outcome of a line: its output, and why the wait ended. */
export interface LineRun {
  output: string;
  exitCode: number | null;
  reason: string;
  start: number;
  end: number;
  truncated: boolean;
  sure: boolean;
}

/** Some lines of a text: which, of how many, and where the next ones begin (null: there are none). */
export interface LinesRead {
  content: string;
  from: number;
  to: number;
  lines: number;
  next: number | null;
  cut: number;
  ended: boolean;
  version: string;
  encoding: string;
}

/** A model that an endpoint has. */
export interface ListedModel {
  id: string;
  name?: string;
  contextTokens?: number | null;
}

/** The set of commands is another. */
export interface ManifestChanged {
  version: string;
  lastUpdated: string;
}

/** The models of an endpoint, in its own order. */
export interface ModelList {
  models: ListedModel[];
}

/** Arguments of `openspace.network.allow`. */
export interface NetworkAllowArgs {
  host: string;
  allow?: boolean;
}

/** A session's programs were let through to a host for the first time. */
export interface NetworkAllowed {
  session: string;
  host: string;
  port: number;
  by: string;
}

/** Arguments of `openspace.network.forget`. */
export interface NetworkForgetArgs {
  host: string;
}

/** The hosts, the one used last first. */
export interface NetworkHosts {
  hosts: HostTraffic[];
}

/** Arguments of `openspace.network.hosts`. */
export interface NetworkHostsArgs {
  sessionId: string;
}

/** The rules that hold now. */
export interface NetworkList {
  mode: string;
  rules: NetworkRule[];
}

/** The open ports. */
export interface NetworkPorts {
  ports: OpenPort[];
}

/** A connection of a session's program was refused. */
export interface NetworkRefused {
  session: string;
  host: string;
  port: number;
  reason: string;
}

/** One rule: a host that may be reached or never, and where that comes from. */
export interface NetworkRule {
  host: string;
  allowed: boolean;
  source: "agent" | "denied" | "never" | "once" | "session" | "settings" | "tools" | "workspace";
  session: string;
}

/** An empty result: the command worked. */
export interface Nothing {}

/** An address that a person is asked to open, its host, and what is odd about it. */
export interface OfferedLink {
  url: string;
  host: string;
  warnings: string[];
}

/** Arguments of `openspace.editor.open`. */
export interface OpenEditor {
  path: string;
  line?: number | null;
  column?: number | null;
  highlight?: boolean;
}

/** A port of a program in a sandbox, and the one of 127.0.0.1 by which it is reached. */
export interface OpenPort {
  session: string;
  port: number;
  outside: number;
}

/** An agent's options, with their values, are these now. */
export interface OptionsOffered {
  session: string;
  options: unknown;
}

/** A part of an output; `next` is the offset of the next part, or null at the end. */
export interface OutputPage {
  output: string;
  offset: number;
  characters: number;
  next: number | null;
}

/** The terminal of a program outside the sandbox, and what it has printed; `exitCode` is null while it runs. */
export interface OutsideRun {
  terminalId: string;
  title: string;
  paneId: string;
  output: string;
  exitCode: number | null;
  running: boolean;
  truncated: boolean;
}

/** A place with tabs, one of them in front. */
export interface Pane {
  kind: "pane";
  id: string;
  tabs: Tab[];
  activeTab: string;
}

/** A pane as it is listed; type, content and title are those of the tab in front. */
export interface PaneInfo {
  id: string;
  type: "editor" | "presentation" | "terminal" | "whiteboard";
  content: string;
  title: string;
  tabs: Tab[];
  activeTab: string;
  active: boolean;
  geometry: Geometry;
}

/** All panes. */
export interface PaneList {
  panes: PaneInfo[];
  activePane: string | null;
  revision: number;
}

/** Arguments of `openspace.pane.move`. */
export interface PaneMoveArgs {
  paneId: string;
  target: string;
  side?: "bottom" | "center" | "left" | "right" | "top";
  index?: number | null;
  baseRev?: number | null;
}

/** Arguments of `openspace.pane.open`. */
export interface PaneOpenArgs {
  type: "editor" | "presentation" | "terminal" | "whiteboard";
  contentId: string;
  splitDirection?: "horizontal" | "vertical" | null;
}

/** The pane that shows it; `moved` if it was open elsewhere, `note` if it was to be split and could not be. */
export interface PaneOpened {
  paneId: string;
  moved: boolean;
  note: string;
}

/** Arguments of `openspace.pane.pin`. */
export interface PanePinArgs {
  paneId: string;
  pinned?: boolean;
}

/** A pane. */
export interface PaneRef {
  paneId: string;
}

/** Arguments of `openspace.pane.resize`. */
export interface PaneResizeArgs {
  paneId: string;
  width?: number | null;
  height?: number | null;
}

/** Arguments of `openspace.pane.set_sizes`. */
export interface PaneSetSizesArgs {
  split: string;
  sizes: number[];
  baseRev?: number | null;
}

/** A conversation that the agent remembers. */
export interface PastChat {
  id: string;
  title: string;
  updated: string;
}

/** The chats that an agent remembers. */
export interface PastChatList {
  chats: PastChat[];
}

/** The machine that Fourhands runs on, and the shell that a new terminal gets there, with its arguments. */
export interface PlatformInformation {
  system: string;
  release: string;
  machine: string;
  wsl: boolean;
  defaultShell: string;
  shellArguments: string[];
  shells: string[];
}

/** A program in a sandbox no longer listens on a port. */
export interface PortClosed {
  session: string;
  port: number;
  outside: number;
}

/** A program in a sandbox listens on `port`; it can be reached at 127.0.0.1 on the port `outside`. */
export interface PortOpened {
  session: string;
  port: number;
  outside: number;
}

/** A browser has come or gone; `browsers` counts those that are there. */
export interface PresenceChanged {
  browsers: number;
}

/** The workspace's instructions for agents, or its skills, are others than when somebody looked before. */
export interface ProjectChanged {
  instructions: string[];
  skills: string[];
}

/** The instructions as one text, each file below its name, the nearest last; and the files, in this order. */
export interface ProjectInstructions {
  content: string;
  paths: string[];
  mimeType: string;
}

/** Arguments of `openspace.project.instructions`. */
export interface ProjectInstructionsArgs {
  directory?: string;
}

/** A question to a person, with everything they need to decide. */
export interface Question {
  kind: "browser" | "confirmation" | "consent" | "form" | "link" | "network";
  session: string;
  text: string;
  options: ("always" | "deny" | "dismiss" | "edit" | "never" | "once" | "session")[];
  scopes: ("arrange" | "run" | "see" | "write")[];
  command: string;
  terminal: string;
  shown: string;
  level: string;
  reason: string;
  parts: AssessedPart[];
  rule: string;
  facts: string[];
  detail: Record<string, unknown>;
  fields: FormField[];
  link: OfferedLink | null;
  actor: Actor | null;
  limitSeconds: number | null;
  id: string;
  created: number;
  deadline: number | null;
}

/** A person has answered a question. */
export interface QuestionAnswered {
  id: string;
  session: string;
  choice: "always" | "deny" | "dismiss" | "edit" | "never" | "once" | "session";
  by: Actor;
  reason: string;
}

/** The errand of a link that a person opened is done, as the agent says; the question was answered before. */
export interface QuestionCompleted {
  id: string;
  session: string;
}

/** A question was not answered in time. */
export interface QuestionExpired {
  id: string;
  session: string;
}

/** A question waits without a time limit from now on: the person is looking into it. */
export interface QuestionHeld {
  id: string;
  session: string;
}

/** Open questions, the oldest first. */
export interface QuestionList {
  questions: Question[];
}

/** A question was withdrawn: no answer is wanted any more. */
export interface QuestionWithdrawn {
  id: string;
  session: string;
  reason: string;
}

/** Lines, and columns if it is not whole lines; all count from 1, the ends are included. */
export interface Range {
  startLine: number;
  endLine: number;
  startColumn?: number | null;
  endColumn?: number | null;
}

/** Arguments of `openspace.file.read`. */
export interface ReadAny {
  path: string;
  startLine?: number | null;
  endLine?: number | null;
  binary?: boolean;
  offset?: number | null;
  limit?: number | null;
}

/** Arguments of the reading commands. */
export interface ReadFile {
  path: string;
  startLine?: number | null;
  endLine?: number | null;
}

/** Arguments of `openspace.tool.read_output`. */
export interface ReadKeptOutput {
  outputId: string;
  offset?: number;
  limit?: number;
}

/** Arguments of `openspace.tool.read`. */
export interface ReadLines {
  path: string;
  from?: number;
  column?: number;
  limit?: number;
}

/** Arguments of `openspace.terminal.screen`. */
export interface ReadScreen {
  terminalId: string;
  since?: number | null;
}

/** Arguments of `openspace.terminal.read_output`. */
export interface ReadTerminalOutput {
  terminalId: string;
  lines?: number;
  since?: number | null;
}

/** The paths that were written and those that were not; the checkpoint from just before, or why there is none. */
export interface RehearsalApplied {
  files: number;
  conflicts: LeftPath[];
  checkpoint: string;
  missing: string;
}

/** Arguments of `openspace.rehearsal.apply`. */
export interface RehearsalApplyArgs {
  id: string;
}

/** A rehearsal of a pending command has begun or ended, or its changes were applied or discarded. */
export interface RehearsalChanged {
  id: string;
  question: string;
  session: string;
  state: "applied" | "discarded" | "ended" | "running";
}

/** Arguments of `openspace.rehearsal.check`. */
export interface RehearsalCheckArgs {
  questionId: string;
}

/** Arguments of `openspace.rehearsal.discard`. */
export interface RehearsalDiscardArgs {
  id: string;
}

/** A rehearsal: its output and end, what it would change, why that cannot be applied, what it cannot show. */
export interface RehearsalInfo {
  id: string;
  question: string;
  session: string;
  line: string;
  cwd: string;
  state: "applied" | "discarded" | "ended" | "running";
  seconds: number;
  exitCode: number | null;
  output: string;
  outputCut: boolean;
  stopped: string;
  failed: string;
  changes: RehearsedChange[];
  moreChanges: number;
  counts: Record<string, number>;
  gitFiles: number;
  blocked: string;
  cannotShow: string[];
}

/** The answer whether a command can be rehearsed; if not, why. `rehearsal` is the one that there is already. */
export interface RehearsalOffer {
  possible: boolean;
  concerned: boolean;
  reason: string;
  rehearsal: string;
}

/** Arguments of `openspace.rehearsal.read`. */
export interface RehearsalReadArgs {
  id: string;
}

/** Arguments of `openspace.rehearsal.start`. */
export interface RehearsalStartArgs {
  questionId: string;
}

/** Arguments of `openspace.rehearsal.stop`. */
export interface RehearsalStopArgs {
  id: string;
}

/** A path that would change. Of a directory, `files` and `bytes` count what is below it; `conflict` says why not. */
export interface RehearsedChange {
  path: string;
  kind: "changed" | "created" | "deleted";
  directory: boolean;
  files: number;
  bytes: number;
  note: string;
  runsByItself: boolean;
  conflict: string;
  diff: string;
}

/** Arguments of `openspace.terminal.rename`. */
export interface RenameTerminal {
  terminalId: string;
  title: string;
}

/** The outcome of one edit: how often, and the lines it touched as they are numbered now (the first 20 places). */
export interface Replaced {
  count: number;
  ranges: LineRange[];
}

/** Some output, and who began to type just before it. */
export interface ReplaySegment {
  text: string;
  ink: AuthorSpan | null;
}

/** Arguments of `openspace.terminal.resize`. */
export interface ResizeTerminal {
  terminalId: string;
  cols: number;
  rows: number;
  hideRedraw?: boolean;
}

/** The classification of a text that a person might put in place of the one they were asked about. */
export interface Review {
  level: string;
  reason: string;
  shown: string;
  parts: AssessedPart[];
  facts: string[];
  detail: Record<string, unknown>;
}

/** Arguments of `openspace.terminal.run`. */
export interface RunLine {
  terminalId: string;
  line: string;
  timeoutSeconds?: number;
}

/** Arguments of `openspace.terminal.run_outside`. */
export interface RunOutside {
  command: string;
  args?: string[] | null;
  env?: Record<string, string | null>;
  cwd?: string | null;
  outputByteLimit?: number | null;
  timeoutSeconds?: number;
}

/** Arguments of `openspace.tool.run_script`. */
export interface RunScript {
  script: string;
  input?: string | null;
  timeoutSeconds?: number;
  env?: Record<string, string | null>;
  workingDirectory?: string | null;
}

/** Arguments of `openspace.safety.judge`. */
export interface SafetyJudgeArgs {
  command: string;
  program?: string;
}

/** Arguments of `openspace.safety.set_asking`. */
export interface SafetySetAskingArgs {
  ask: "dangerous" | "irreversible";
}

/** It was found out which sandbox agents' programs run in. */
export interface SandboxChanged {
  sandbox: SandboxInfo;
}

/** The sandbox in force for agents by default: the provider, the kind of sandbox, and the line for people. */
export interface SandboxInfo {
  provider: string;
  rung: string;
  isolation: string;
  line: string;
  reason: string;
  remedy: string;
  rungs: SandboxRung[];
}

/** One kind of sandbox on this machine: whether it works, and otherwise why not and the line that mends it. */
export interface SandboxRung {
  name: string;
  works: boolean;
  detail: string;
  reason: string;
  remedy: string;
}

/** Arguments of `openspace.editor.save`. */
export interface SaveEditor {
  path: string;
  text?: string | null;
  expectedVersion?: string | null;
  encoding?: string;
}

/** The rows of a screen, its cursor and its size; with `since` only the changed rows. */
export interface ScreenContent {
  rows: string[];
  cursor: [number, number];
  size: [number, number];
  alternate: boolean;
  revision: number;
  changed: ([number, string])[] | null;
}

/** Arguments of `openspace.tool.search`. */
export interface SearchFiles {
  query: string;
  path?: string;
  include?: string | null;
  regex?: boolean;
  limit?: number;
}

/** Arguments of `openspace.terminal.search`. */
export interface SearchTerminal {
  terminalId: string;
  pattern: string;
  limit?: number;
}

/** Arguments of `openspace.terminal.send`. */
export interface SendKeys {
  terminalId: string;
  text: string;
}

/** An agent's session has ended, and what it made is taken away; its chat may be `resumable`. */
export interface SessionEnded {
  session: string;
  name: string;
  resumable?: boolean;
}

/** A session as others see it. */
export interface SessionInfo {
  id: string;
  name: string;
  connector: string;
  status: string;
  created: number;
  state: SessionSettings;
  paused: boolean;
  pending: number;
  consent: string;
  scopes: ("arrange" | "run" | "see" | "write")[];
  attached: AttachedTerminal[];
  isolation: string;
  rung: string;
  title: string;
  client: string;
  allowedBy: string;
  askBy: string;
  kept: boolean;
  usage: SessionUsage | null;
}

/** A session. */
export interface SessionRef {
  sessionId: string;
}

/** An agent's own settings; None means the default. It survives a chat reset and can be stored. */
export interface SessionSettings {
  provider?: string | null;
  cropOutput?: number | null;
  timeoutSeconds?: number | null;
  minInterval?: number | null;
  settleInterval?: number | null;
  maxInterval?: number | null;
  cwd?: string | null;
  mode?: "auto" | "blocks" | "tools" | null;
}

/** An agent has connected, or is here again. */
export interface SessionStarted {
  session: SessionInfo;
}

/** The tokens, and the money, that a session's model has used so far, as far as its endpoint tells. */
export interface SessionUsage {
  requests: number;
  inputTokens: number;
  outputTokens: number;
  cachedTokens: number;
  cost: number | null;
}

/** Arguments of `openspace.editor.highlight`. */
export interface SetHighlight {
  path: string;
  ranges: Range[];
  highlightId?: string | null;
  color?: string | null;
  label?: string | null;
}

/** Arguments of `openspace.terminal.set_limit`. */
export interface SetTerminalLimit {
  maxTerminals: number;
}

/** A file that agents changed, or one hunk of it. */
export interface SettleChange {
  path: string;
  version?: string | null;
  hunk?: number | null;
}

/** Arguments of `openspace.tool.show`. */
export interface ShowFile {
  path: string;
  line?: number | null;
  endLine?: number | null;
  highlight?: boolean;
}

/** One skill: its name, what it is for, and its file, by the path that `read` takes. */
export interface Skill {
  name: string;
  description: string;
  path: string;
  source: "own" | "workspace";
}

/** A file of a skill; encoding base64 means: the bytes of no text. `files` are those in the skill's folder. */
export interface SkillFile {
  name: string;
  path: string;
  content: string;
  encoding: string;
  mimeType: string;
  folder: string;
  files: string[];
}

/** The skills by name, and the folders that are none, with the reason. */
export interface SkillList {
  skills: Skill[];
  problems: SkillProblem[];
}

/** A folder that is no usable skill, and why. */
export interface SkillProblem {
  path: string;
  problem: string;
}

/** Arguments of `openspace.skill.read`. */
export interface SkillReadArgs {
  name: string;
  path?: string;
  binary?: boolean;
}

/** Everything at one revision. */
export interface Snapshot {
  format: number;
  rev: number;
  layout: Layout;
  editors: Editor[];
  drafts: Draft[];
  highlights: Highlight[];
}

/** Panes beside each other (vertical) or one below the other (horizontal), with their sizes in percent. */
export interface Split {
  kind: "split";
  id: string;
  direction: "horizontal" | "vertical";
  sizes: number[];
  children: (Pane | Split)[];
}

/** A change of the state: the whole new values of what differs at this revision; the rest is as it was. */
export interface StateChange {
  rev: number;
  kind: "editor.changed" | "editor.closed" | "editor.opened" | "editor.revealed" | "editor.saved" | "highlight.cleared" | "highlight.set" | "pane.closed" | "pane.focused" | "pane.moved" | "pane.opened" | "pane.pinned" | "pane.resized" | "pane.retitled" | "pane.unpinned" | "session.cleaned" | "workbench.reverted";
  subject: string;
  layout?: Layout | null;
  editors?: Editor[];
  closedEditors?: string[];
  drafts?: string[];
  highlights?: Highlight[];
  clearedHighlights?: string[];
}

/** One thing shown in a pane: a file by its path, a terminal by its id. */
export interface Tab {
  id: string;
  type: "editor" | "presentation" | "terminal" | "whiteboard";
  content: string;
  title: string;
  owner: string;
  pinned: boolean;
}

/** A terminal's title, shell, directory or lease is another, or a command has finished in it. */
export interface TerminalChanged {
  terminal: TerminalInfo;
}

/** A terminal was closed, and is gone. */
export interface TerminalClosed {
  terminalId: string;
  title: string;
}

/** Arguments of `openspace.tool.terminal_continue`. */
export interface TerminalContinue {
  sessionId: string;
  stdin?: string | null;
}

/** The new terminal and the pane that shows it. */
export interface TerminalCreated {
  terminalId: string;
  title: string;
  paneId: string;
  note: string;
}

/** A terminal's main process has ended; its output can still be read. */
export interface TerminalExited {
  terminal: TerminalInfo;
}

/** A terminal as everybody sees it in lists and events. */
export interface TerminalInfo {
  id: string;
  title: string;
  status: string;
  shellState: string;
  command: string;
  cwd: string;
  cols: number;
  rows: number;
  position: number;
  owner: string;
  isolation: string;
  provider: string;
  created: number;
  uptimeSeconds: number;
  pid: number;
  exitCode: number | null;
  signal: string | null;
  lastExitCode: number | null;
  finishedCommands: number;
  paused: boolean;
  fault: string;
  slowStart: string;
  lease: LeaseInfo;
}

/** The limit, the number of terminals, and the limit of the settings, which holds after a restart. */
export interface TerminalLimit {
  maxTerminals: number;
  count: number;
  setting: number;
}

/** All terminals. */
export interface TerminalList {
  terminals: TerminalInfo[];
}

/** A terminal was created. */
export interface TerminalOpened {
  terminal: TerminalInfo;
}

/** Lines as a person would see them, and the `position` at which the next read continues. */
export interface TerminalOutput {
  output: string[];
  position: number;
  gap: [number, number] | null;
  truncated: boolean;
  blind: boolean;
  note: string;
  partial?: boolean;
}

/** A terminal's output waits: its log cannot be written, because the disk is full or for another reason. */
export interface TerminalPaused {
  terminal: TerminalInfo;
}

/** Arguments of a command on one terminal. */
export interface TerminalRef {
  terminalId: string;
}

/** The terminal's title now. */
export interface TerminalRenamed {
  title: string;
  note: string;
}

/** The output that restores a terminal on a fresh screen of this size: scrollback, screen, and the end position. */
export interface TerminalReplay {
  past: ReplaySegment[];
  screen: string;
  position: number;
  cols: number;
  rows: number;
}

/** A terminal has another size. */
export interface TerminalResized {
  terminal: TerminalInfo;
}

/** A terminal's output flows again. */
export interface TerminalResumed {
  terminal: TerminalInfo;
}

/** Arguments of `openspace.tool.terminal_start`. */
export interface TerminalStart {
  command: string;
  stdin?: string | null;
}

/** Arguments of `openspace.tool.terminal_stop`. */
export interface TerminalStop {
  sessionId: string;
}

/** The terminal that was closed. */
export interface TerminalStopped {
  sessionId: string;
  text: string;
}

/** The outcome of a wait; `reason` is exit, finished, pattern, quiet, input, port or deadline. */
export interface TerminalWaited {
  reason: string;
  position: number;
  elapsedSeconds: number;
  deadlineSeconds: number;
  match: string | null;
  input: string | null;
  port: number | null;
  sure: boolean;
  exitCode: number | null;
  start: number | null;
  end: number | null;
}

/** One piece of text and what takes its place. */
export interface TextEdit {
  old: string;
  new: string;
  all?: boolean;
}

/** The file's new version, how many places were changed, and what each edit did. */
export interface TextEdited {
  path: string;
  version: string;
  created: boolean;
  replaced: number;
  edits: Replaced[];
}

/** The file's new version, and how many lines it has. */
export interface TextWritten {
  path: string;
  version: string;
  created: boolean;
  lines: number;
}

/** The outcome of a command; `characters` and `lines` count all output, `outputId` is set if some was left out. */
export interface ToolResult {
  ok: boolean;
  output: string;
  exitCode: number | null;
  stdout: string;
  stderr: string;
  error: string | null;
  code: string | null;
  signal: string | null;
  truncated: boolean;
  characters: number;
  lines: number;
  outputId: string | null;
  heldOpenBy: number[];
  note: string;
  sessionId: string | null;
}

/** One turn of an agent; a checkpoint that is not taken has no id, and `missing` says why it never will have one. */
export interface Turn {
  id: string;
  session: string;
  agent: string;
  title: string;
  started: number;
  finished: number | null;
  before: string;
  after: string;
  missing: string;
  status: "kept" | "open" | "undone";
  conflicts: number;
  hosts: HostTraffic[];
}

/** A turn was undone, redone or kept. */
export interface TurnChanged {
  session: string;
  turn: string;
  status: string;
}

/** A file that was not put back: what it was to become, what the turn left, what it is now; texts where shown. */
export interface TurnConflict {
  path: string;
  reason: string;
  wanted: string | null;
  left: string | null;
  now: string | null;
}

/** An agent's turn is over; `missing` says why it cannot be undone, if it cannot. */
export interface TurnFinished {
  session: string;
  turn: string;
  missing: string;
}

/** Arguments of `openspace.turn.keep`. */
export interface TurnKeepArgs {
  turn: string;
}

/** Turns, oldest first; `unavailable` says why there are no checkpoints here at all. */
export interface TurnList {
  turns: Turn[];
  unavailable: string;
}

/** Arguments of `openspace.turn.list`. */
export interface TurnListArgs {
  session?: string | null;
}

/** Arguments of `openspace.turn.redo`. */
export interface TurnRedoArgs {
  turn: string;
}

/** An agent's turn has begun. */
export interface TurnStarted {
  session: string;
  turn: string;
  title: string;
}

/** Arguments of `openspace.turn.undo`. */
export interface TurnUndoArgs {
  turn: string;
  preview?: boolean;
}

/** The paths that were put back, and those that were not since they were changed after the turn. */
export interface TurnUndone {
  files: string[];
  refs: string[];
  conflicts: TurnConflict[];
  refConflicts: string[];
}

/** Arguments of `openspace.terminal.wait`. */
export interface WaitForTerminal {
  terminalId: string;
  pattern?: string | null;
  finished?: boolean;
  inputWanted?: boolean;
  port?: boolean;
  quietSeconds?: number | null;
  since?: number | null;
  deadlineSeconds?: number;
}

/** Arguments of `openspace.terminal.authors`. */
export interface WhoTyped {
  terminalId: string;
  since?: number;
}

/** Arguments of `openspace.workbench.answer`. */
export interface WorkbenchAnswerArgs {
  questionId: string;
  choice: "always" | "deny" | "dismiss" | "edit" | "never" | "once" | "session";
  text?: string | null;
  args?: Record<string, unknown> | null;
  reason?: string;
  scopes?: ("arrange" | "run" | "see" | "write")[] | null;
  values?: Record<string, string | number | number | boolean | string[]> | null;
}

/** The panes as they are after some changes. */
export interface WorkbenchPublished {
  panes: (Record<string, unknown>)[];
  timestamp: string;
  activePane?: string;
}

/** Arguments of `openspace.workbench.review`. */
export interface WorkbenchReviewArgs {
  questionId: string;
  text: string;
}

/** Arguments of `openspace.workbench.undo`. */
export interface WorkbenchUndoArgs {
  callId?: string | null;
}

/** Arguments of `openspace.file.write`. */
export interface WriteFile {
  path: string;
  content: string;
  expectedVersion?: string | null;
  append?: boolean;
}

/** Arguments of `openspace.tool.write`. */
export interface WriteText {
  path: string;
  content: string;
}

export interface Commands {
  "openspace.agent.attach": { args: AttachTerminal; result: AttachedList };
  "openspace.agent.configure": { args: ConfigureAgent; result: AgentConfigured };
  "openspace.agent.consent": { args: AgentConsentArgs; result: Nothing };
  "openspace.agent.delete_chat": { args: AgentDeleteChatArgs; result: Nothing };
  "openspace.agent.describe": { args: SessionRef; result: Described };
  "openspace.agent.detach": { args: AttachTerminal; result: AttachedList };
  "openspace.agent.drop_rule": { args: AgentDropRuleArgs; result: Nothing };
  "openspace.agent.end": { args: SessionRef; result: Nothing };
  "openspace.agent.help": { args: ExplainCommand; result: CommandHelp };
  "openspace.agent.list": { args: Record<string, never>; result: AgentList };
  "openspace.agent.list_chats": { args: SessionRef; result: PastChatList };
  "openspace.agent.load_chat": { args: AgentLoadChatArgs; result: Nothing };
  "openspace.agent.models": { args: AgentModelsArgs; result: ModelList };
  "openspace.agent.pause": { args: SessionRef; result: Nothing };
  "openspace.agent.prompt": { args: AgentPromptArgs; result: Nothing };
  "openspace.agent.reset": { args: SessionRef; result: Nothing };
  "openspace.agent.resume": { args: SessionRef; result: Nothing };
  "openspace.agent.rules": { args: SessionRef; result: AllowRuleList };
  "openspace.agent.set_mode": { args: AgentSetModeArgs; result: Nothing };
  "openspace.agent.set_option": { args: AgentSetOptionArgs; result: Nothing };
  "openspace.agent.sign_in": { args: AgentSignInArgs; result: Nothing };
  "openspace.agent.start": { args: AgentStartArgs; result: AgentStarted };
  "openspace.agent.stop": { args: AgentStopArgs; result: AgentStopped };
  "openspace.change.keep": { args: SettleChange; result: Nothing };
  "openspace.change.list": { args: Record<string, never>; result: ChangeList };
  "openspace.change.revert": { args: SettleChange; result: Nothing };
  "openspace.checkpoint.compare": { args: CheckpointCompareArgs; result: Comparison };
  "openspace.checkpoint.list": { args: Record<string, never>; result: CheckpointList };
  "openspace.checkpoint.restore": { args: CheckpointRestoreArgs; result: CheckpointRestored };
  "openspace.editor.clear_highlight": { args: EditorClearHighlightArgs; result: Nothing };
  "openspace.editor.clear_highlights": { args: EditorClearHighlightsArgs; result: Nothing };
  "openspace.editor.close": { args: EditorRef; result: Nothing };
  "openspace.editor.discard": { args: EditorRef; result: Nothing };
  "openspace.editor.escape": { args: Record<string, never>; result: Nothing };
  "openspace.editor.highlight": { args: SetHighlight; result: Highlighted };
  "openspace.editor.list": { args: Record<string, never>; result: HighlightList };
  "openspace.editor.open": { args: OpenEditor; result: EditorOpened };
  "openspace.editor.read_file": { args: ReadFile; result: FileContent };
  "openspace.editor.save": { args: SaveEditor; result: EditorSaved };
  "openspace.editor.scroll_to": { args: EditorScrollToArgs; result: Nothing };
  "openspace.editor.set_draft": { args: EditorSetDraftArgs; result: Nothing };
  "openspace.file.edit": { args: EditFile; result: FileEdited };
  "openspace.file.list": { args: FileListArgs; result: DirectoryListing };
  "openspace.file.read": { args: ReadAny; result: FileContent };
  "openspace.file.remove": { args: FileRemoveArgs; result: Nothing };
  "openspace.file.search": { args: FileSearchArgs; result: FileSearchResult };
  "openspace.file.write": { args: WriteFile; result: FileWritten };
  "openspace.network.allow": { args: NetworkAllowArgs; result: Nothing };
  "openspace.network.forget": { args: NetworkForgetArgs; result: Nothing };
  "openspace.network.hosts": { args: NetworkHostsArgs; result: NetworkHosts };
  "openspace.network.list": { args: Record<string, never>; result: NetworkList };
  "openspace.network.ports": { args: Record<string, never>; result: NetworkPorts };
  "openspace.pane.close": { args: PaneRef; result: Nothing };
  "openspace.pane.focus": { args: PaneRef; result: Nothing };
  "openspace.pane.list": { args: Record<string, never>; result: PaneList };
  "openspace.pane.move": { args: PaneMoveArgs; result: Nothing };
  "openspace.pane.open": { args: PaneOpenArgs; result: PaneOpened };
  "openspace.pane.pin": { args: PanePinArgs; result: Nothing };
  "openspace.pane.resize": { args: PaneResizeArgs; result: Nothing };
  "openspace.pane.set_sizes": { args: PaneSetSizesArgs; result: Nothing };
  "openspace.project.instructions": { args: ProjectInstructionsArgs; result: ProjectInstructions };
  "openspace.rehearsal.apply": { args: RehearsalApplyArgs; result: RehearsalApplied };
  "openspace.rehearsal.check": { args: RehearsalCheckArgs; result: RehearsalOffer };
  "openspace.rehearsal.discard": { args: RehearsalDiscardArgs; result: Nothing };
  "openspace.rehearsal.read": { args: RehearsalReadArgs; result: RehearsalInfo };
  "openspace.rehearsal.start": { args: RehearsalStartArgs; result: RehearsalInfo };
  "openspace.rehearsal.stop": { args: RehearsalStopArgs; result: RehearsalInfo };
  "openspace.safety.asking": { args: Record<string, never>; result: AskingInForce };
  "openspace.safety.judge": { args: SafetyJudgeArgs; result: LineClassified };
  "openspace.safety.sandbox": { args: Record<string, never>; result: SandboxInfo };
  "openspace.safety.set_asking": { args: SafetySetAskingArgs; result: AskingInForce };
  "openspace.skill.list": { args: Record<string, never>; result: SkillList };
  "openspace.skill.read": { args: SkillReadArgs; result: SkillFile };
  "openspace.terminal.authors": { args: WhoTyped; result: Authors };
  "openspace.terminal.close": { args: TerminalRef; result: Nothing };
  "openspace.terminal.create": { args: CreateTerminal; result: TerminalCreated };
  "openspace.terminal.exec": { args: Exec; result: ExecStarted };
  "openspace.terminal.hand_back": { args: TerminalRef; result: Nothing };
  "openspace.terminal.interrupt": { args: TerminalRef; result: Nothing };
  "openspace.terminal.kill": { args: KillExec; result: Nothing };
  "openspace.terminal.limit": { args: Record<string, never>; result: TerminalLimit };
  "openspace.terminal.list": { args: Record<string, never>; result: TerminalList };
  "openspace.terminal.read_output": { args: ReadTerminalOutput; result: TerminalOutput };
  "openspace.terminal.rename": { args: RenameTerminal; result: TerminalRenamed };
  "openspace.terminal.replay": { args: TerminalRef; result: TerminalReplay };
  "openspace.terminal.resize": { args: ResizeTerminal; result: Nothing };
  "openspace.terminal.run": { args: RunLine; result: LineRun };
  "openspace.terminal.run_outside": { args: RunOutside; result: OutsideRun };
  "openspace.terminal.screen": { args: ReadScreen; result: ScreenContent };
  "openspace.terminal.search": { args: SearchTerminal; result: FoundLines };
  "openspace.terminal.send": { args: SendKeys; result: KeysSent };
  "openspace.terminal.set_limit": { args: SetTerminalLimit; result: TerminalLimit };
  "openspace.terminal.show": { args: TerminalRef; result: Nothing };
  "openspace.terminal.take_over": { args: TerminalRef; result: Nothing };
  "openspace.terminal.wait": { args: WaitForTerminal; result: TerminalWaited };
  "openspace.tool.bash": { args: Bash; result: ToolResult };
  "openspace.tool.edit": { args: EditText; result: TextEdited };
  "openspace.tool.execute_command": { args: ExecuteCommand; result: ToolResult };
  "openspace.tool.read": { args: ReadLines; result: LinesRead };
  "openspace.tool.read_output": { args: ReadKeptOutput; result: OutputPage };
  "openspace.tool.run_script": { args: RunScript; result: ToolResult };
  "openspace.tool.search": { args: SearchFiles; result: FoundFiles };
  "openspace.tool.show": { args: ShowFile; result: FileShown };
  "openspace.tool.terminal_continue": { args: TerminalContinue; result: Collected };
  "openspace.tool.terminal_list": { args: Record<string, never>; result: ActiveList };
  "openspace.tool.terminal_start": { args: TerminalStart; result: Collected };
  "openspace.tool.terminal_stop": { args: TerminalStop; result: TerminalStopped };
  "openspace.tool.write": { args: WriteText; result: TextWritten };
  "openspace.turn.keep": { args: TurnKeepArgs; result: Nothing };
  "openspace.turn.list": { args: TurnListArgs; result: TurnList };
  "openspace.turn.redo": { args: TurnRedoArgs; result: TurnUndone };
  "openspace.turn.undo": { args: TurnUndoArgs; result: TurnUndone };
  "openspace.workbench.actions": { args: Record<string, never>; result: Actions };
  "openspace.workbench.answer": { args: WorkbenchAnswerArgs; result: Nothing };
  "openspace.workbench.platform": { args: Record<string, never>; result: PlatformInformation };
  "openspace.workbench.questions": { args: Record<string, never>; result: QuestionList };
  "openspace.workbench.redo": { args: Record<string, never>; result: ActionsUndone };
  "openspace.workbench.review": { args: WorkbenchReviewArgs; result: Review };
  "openspace.workbench.snapshot": { args: Record<string, never>; result: Everything };
  "openspace.workbench.undo": { args: WorkbenchUndoArgs; result: ActionsUndone };
}

export interface Events {
  "action.done": ActionDone;
  "action.redone": ActionRedone;
  "action.undone": ActionUndone;
  "agent.asked": AgentAsked;
  "agent.attached": AgentAttached;
  "agent.changed": AgentChanged;
  "agent.configured": OptionsOffered;
  "agent.consented": AgentConsented;
  "agent.detached": AgentDetached;
  "agent.ended": SessionEnded;
  "agent.exited": AgentExited;
  "agent.failed": AgentFailed;
  "agent.finished": AgentFinished;
  "agent.noted": AgentNoted;
  "agent.offered": AgentOffered;
  "agent.paused": AgentPaused;
  "agent.planned": AgentPlanned;
  "agent.reset": AgentReset;
  "agent.resumed": AgentResumed;
  "agent.said": AgentSaid;
  "agent.started": SessionStarted;
  "agent.step": AgentStep;
  "agent.stopped": CallsStopped;
  "agent.stopping": AgentStopping;
  "agent.switched": AgentSwitched;
  "agent.thought": AgentThought;
  "agent.titled": AgentTitled;
  "agent.usage": AgentUsage;
  "agent.used": AgentUsed;
  "asking.changed": AskingChanged;
  "call.finished": CallFinished;
  "call.started": CallStarted;
  "command.requested": CommandRequested;
  "command.withdrawn": CommandWithdrawn;
  "editor.changed": StateChange;
  "editor.closed": StateChange;
  "editor.opened": StateChange;
  "editor.revealed": StateChange;
  "editor.saved": StateChange;
  "events.missed": EventsMissed;
  "file.changed": FileChanged;
  "highlight.cleared": StateChange;
  "highlight.set": StateChange;
  "host.replaced": HostReplaced;
  "manifest.changed": ManifestChanged;
  "network.allowed": NetworkAllowed;
  "network.refused": NetworkRefused;
  "pane.closed": StateChange;
  "pane.focused": StateChange;
  "pane.moved": StateChange;
  "pane.opened": StateChange;
  "pane.pinned": StateChange;
  "pane.resized": StateChange;
  "pane.retitled": StateChange;
  "pane.unpinned": StateChange;
  "port.closed": PortClosed;
  "port.opened": PortOpened;
  "presence.changed": PresenceChanged;
  "project.changed": ProjectChanged;
  "question.answered": QuestionAnswered;
  "question.asked": Question;
  "question.completed": QuestionCompleted;
  "question.expired": QuestionExpired;
  "question.held": QuestionHeld;
  "question.withdrawn": QuestionWithdrawn;
  "rehearsal.changed": RehearsalChanged;
  "sandbox.changed": SandboxChanged;
  "session.cleaned": StateChange;
  "terminal.changed": TerminalChanged;
  "terminal.closed": TerminalClosed;
  "terminal.created": TerminalOpened;
  "terminal.exited": TerminalExited;
  "terminal.paused": TerminalPaused;
  "terminal.resized": TerminalResized;
  "terminal.resumed": TerminalResumed;
  "turn.changed": TurnChanged;
  "turn.finished": TurnFinished;
  "turn.started": TurnStarted;
  "workbench.published": WorkbenchPublished;
  "workbench.reverted": StateChange;
}

export type Event = { [Kind in keyof Events]: EventOf<Kind> }[keyof Events];
