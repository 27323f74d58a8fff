// Written by scripts/wire_types.py from the Python structs (make types). Do not change by hand.

/** One action as it is listed: done, undone (it may be done again), or final with the reason. */
export interface Action {
  callId: string;
  description: string;
  actor: string;
  status: "done" | "final" | "undone";
  reason: string | null;
}

/** Who acts: a person, an agent's session, or the program itself. */
export interface Actor {
  kind: "agent" | "person" | "system";
  id: string;
  name: string;
}

/** Arguments of `openspace.agent.prompt`. */
export interface AgentAsk {
  sessionId: string;
  text: string;
}

/** Arguments of `openspace.agent.attach` and `openspace.agent.detach`. */
export interface AgentAttach {
  sessionId: string;
  terminalId: string;
}

/** All terminals that are attached to the chat now. */
export interface AgentAttachedNow {
  attached: AttachedTerminal[];
}

/** Arguments of `openspace.agent.configure`: what is left out stays as it is. */
export interface AgentConfigure {
  sessionId?: string | null;
  provider?: string | null;
  cropOutput?: number | null;
  timeoutSeconds?: number | null;
  minInterval?: number | null;
  settleInterval?: number | null;
  maxInterval?: number | null;
  reset?: boolean;
  cwd?: string | null;
}

/** The settings now, and what they come to over the defaults. */
export interface AgentConfigured {
  state: AgentState;
  effective: Record<string, unknown>;
}

/** Arguments of `openspace.agent.consent`. */
export interface AgentConsent {
  sessionId: string;
  allow: boolean;
  scopes?: ("arrange" | "run" | "see" | "write")[] | null;
}

/** Arguments of `openspace.agent.drop_rule`. */
export interface AgentDropRule {
  sessionId: string;
  key: string;
}

/** The agents that are here. */
export interface AgentListed {
  agents: SessionInfo[];
}

/** A session. */
export interface AgentOne {
  sessionId: string;
}

/** What a person allowed for the rest of a session. */
export interface AgentRule {
  key: string;
  text: string;
}

/** All of a session's rules. */
export interface AgentRules {
  rules: AgentRule[];
}

/** Arguments of `openspace.agent.start`. */
export interface AgentStart {
  agent: string;
  cwd?: string | null;
}

/** The agent's session. */
export interface AgentStarted {
  sessionId: string;
}

/** What an agent has set for itself; None means the default. It survives a chat reset and can be stored. */
export interface AgentState {
  provider?: string | null;
  cropOutput?: number | null;
  timeoutSeconds?: number | null;
  minInterval?: number | null;
  settleInterval?: number | null;
  maxInterval?: number | null;
  cwd?: string | null;
}

/** Arguments of `openspace.agent.stop`. */
export interface AgentStop {
  sessionId: string;
  kill?: boolean;
}

/** How many commands were dropped or cancelled. */
export interface AgentStopped {
  count: number;
}

/** A terminal that a person attached to a chat. */
export interface AttachedTerminal {
  terminalId: string;
  title: string;
}

/** No more than that it worked. */
export interface BaseNothing {}

/** What became different at one revision; what is not named is as it was. */
export interface Change {
  rev: number;
  kind: string;
  subject: string;
  layout?: Layout | null;
  editors?: Editor[];
  closedEditors?: string[];
  drafts?: string[];
  highlights?: Highlight[];
  clearedHighlights?: string[];
}

/** Lines that were exchanged: where they begin in each text, from 0, and how many there are in each. */
export interface ChangeHunk {
  beforeStart: number;
  beforeLines: number;
  afterStart: number;
  afterLines: number;
}

/** A file that agents changed, or one hunk of it. */
export interface ChangeSettle {
  path: string;
  version?: string | null;
  hunk?: number | null;
}

/** All of them, in the order of their paths. */
export interface Changes {
  changes: FileChange[];
}

/** A conversation that the agent remembers. */
export interface Chat {
  id: string;
  title: string;
  updated: string;
}

/** One of several things to choose from. */
export interface Choosable {
  id: string;
  name: string;
  description: string;
}

/** The chats that an agent remembers. */
export interface ControlsChats {
  chats: Chat[];
}

/** Arguments of `openspace.agent.load_chat`. */
export interface ControlsLoadChat {
  sessionId: string;
  chat: string;
}

/** Arguments of `openspace.agent.set_mode`. */
export interface ControlsSetMode {
  sessionId: string;
  mode: string;
}

/** Arguments of `openspace.agent.set_option`. */
export interface ControlsSetOption {
  sessionId: string;
  option: string;
  value: string;
}

/** Arguments of `openspace.agent.sign_in`. */
export interface ControlsSignIn {
  sessionId: string;
  method: string;
}

/** An agent as it describes itself: its modes, options and ways to sign in. */
export interface Described {
  program: string;
  title: string;
  mode: string;
  modes: Choosable[];
  options: Option[];
  signIn: Choosable[];
  chats: boolean;
}

/** Text that a person typed and has not saved, and the version of the file that it started from. */
export interface Draft {
  path: string;
  text: string;
  baseVersion: string | null;
}

/** One piece of text and what takes its place. */
export interface Edit {
  old: string;
  new: string;
  all?: boolean;
}

/** Arguments of `openspace.file.edit`. */
export interface EditFile {
  path: string;
  edits: Edit[];
  expectedVersion?: string | null;
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
export interface EditorClearHighlight {
  highlightId: string;
}

/** Arguments of `openspace.editor.clear_highlights`. */
export interface EditorClearHighlights {
  mine?: boolean;
}

/** The name under which it can be cleared. */
export interface EditorHighlighted {
  highlightId: string;
}

/** What is open and marked. */
export interface EditorHighlights {
  editors: Editor[];
  highlights: Highlight[];
}

/** An editor. */
export interface EditorOnePath {
  path: string;
}

/** Arguments of `openspace.editor.open`. */
export interface EditorOpen {
  path: string;
  line?: number | null;
  column?: number | null;
  highlight?: boolean;
}

/** The editor and the pane that shows it. */
export interface EditorOpened {
  editorId: string;
  paneId: string;
  highlightId: string | null;
}

/** Arguments of `openspace.editor.save`. */
export interface EditorSave {
  path: string;
  text?: string | null;
  expectedVersion?: string | null;
  encoding?: string;
}

/** The version of the file now. */
export interface EditorSaved {
  version: string;
}

/** Arguments of `openspace.editor.scroll_to`. */
export interface EditorScrollTo {
  path: string;
  line: number;
}

/** Arguments of `openspace.editor.set_draft`. */
export interface EditorSetDraft {
  path: string;
  text: string;
  baseVersion?: string | null;
}

/** Arguments of `openspace.editor.highlight`. */
export interface EditorSetHighlight {
  path: string;
  ranges: Range[];
  highlightId?: string | null;
  color?: string | null;
  label?: string | null;
}

/** Something that happened: `kind` is `noun.past`, `revision` the workbench's after it. */
export interface Event {
  kind: string;
  data: Record<string, unknown>;
  revision: number | null;
  actor: Actor | null;
  time: number;
}

/** Arguments of `openspace.terminal.exec`. */
export interface Exec {
  command: string;
  args?: string[] | null;
  env?: Record<string, string | null>;
  cwd?: string | null;
  outputByteLimit?: number | null;
}

/** Arguments of `openspace.terminal.kill`. */
export interface ExecKill {
  terminalId: string;
}

/** The terminal in which it runs. */
export interface ExecStarted {
  terminalId: string;
  title: string;
  paneId: string;
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
  hunks: ChangeHunk[];
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

/** One name in a directory. A link is shown as a link, never followed; `modified` is in seconds since 1970. */
export interface FileEntry {
  name: string;
  path: string;
  kind: "directory" | "file" | "link" | "other";
  size: number;
  modified: number;
}

/** Arguments of `openspace.file.list`. */
export interface FileList {
  path?: string;
}

/** A directory's entries. */
export interface FileListed {
  files: FileEntry[];
}

/** Arguments of `openspace.file.read`. */
export interface FileReadAny {
  path: string;
  startLine?: number | null;
  endLine?: number | null;
  binary?: boolean;
  offset?: number | null;
  limit?: number | null;
}

/** Arguments of `openspace.file.remove`. */
export interface FileRemove {
  path: string;
  expectedVersion?: string | null;
}

/** Arguments of `openspace.file.search`. */
export interface FileSearch {
  query: string;
  includePattern?: string | null;
  excludePattern?: string | null;
}

/** Arguments of `openspace.file.write`. */
export interface FileWrite {
  path: string;
  content: string;
  expectedVersion?: string | null;
  append?: boolean;
}

/** The file's new version. */
export interface FileWrote {
  version: string;
  created: boolean;
}

/** Paths: matching names first, then files whose text matches. `reason` says what cut it short, if anything. */
export interface Found {
  results: string[];
  matches: Match[];
  truncated: boolean;
  reason: string;
}

/** A rectangle in percent of the workbench area. */
export interface Geometry {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The explanation. */
export interface Help {
  text: string;
}

/** Arguments of `openspace.agent.help`. */
export interface HelpExplain {
  command?: string | null;
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

/** From this position on, until the next one, what was printed follows what this actor typed. */
export interface Ink {
  position: number;
  actor: string;
  kind: "agent" | "person";
  time: number;
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

/** The limit, how many terminals there are, and the limit from the settings, which holds after a restart. */
export interface Limit {
  maxTerminals: number;
  count: number;
  setting: number;
}

/** Lines from 1, both ends included. */
export interface Lines {
  startLine: number;
  endLine: number;
}

/** One line that has the query. `line` and `column` count from 1, the column in characters. */
export interface Match {
  path: string;
  line: number;
  column: number;
  text: string;
}

/** A setting of the agent's own, such as its model. */
export interface Option {
  id: string;
  name: string;
  kind: "boolean" | "select";
  value: string | boolean;
  description: string;
  choices: Choosable[];
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
export interface PaneListed {
  panes: PaneInfo[];
  activePane: string | null;
  revision: number;
}

/** Arguments of `openspace.pane.move`. */
export interface PaneMove {
  paneId: string;
  target: string;
  side?: "bottom" | "center" | "left" | "right" | "top";
  index?: number | null;
  baseRev?: number | null;
}

/** A pane. */
export interface PaneOne {
  paneId: string;
}

/** Arguments of `openspace.pane.open`. */
export interface PaneOpen {
  type: "editor" | "presentation" | "terminal" | "whiteboard";
  contentId: string;
  splitDirection?: "horizontal" | "vertical" | null;
}

/** Which pane shows it; `moved` if it was open elsewhere, `note` if it was to be split and could not be. */
export interface PaneOpened {
  paneId: string;
  moved: boolean;
  note: string;
}

/** Arguments of `openspace.pane.pin`. */
export interface PanePin {
  paneId: string;
  pinned?: boolean;
}

/** Arguments of `openspace.pane.resize`. */
export interface PaneResize {
  paneId: string;
  width?: number | null;
  height?: number | null;
}

/** Arguments of `openspace.pane.set_sizes`. */
export interface PaneSetSizes {
  split: string;
  sizes: number[];
  baseRev?: number | null;
}

/** One part of a judged line, with its own level and reason. */
export interface Part {
  text: string;
  level: string;
  reason: string;
}

/** Some output, and who began to type just before it. */
export interface Piece {
  text: string;
  ink: Ink | null;
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

/** What a person is asked, with everything they need to decide. */
export interface Question {
  kind: "confirmation" | "consent";
  session: string;
  text: string;
  options: ("always" | "deny" | "edit" | "once" | "session")[];
  scopes: ("arrange" | "run" | "see" | "write")[];
  command: string;
  terminal: string;
  shown: string;
  level: string;
  reason: string;
  parts: Part[];
  rule: string;
  detail: Record<string, unknown>;
  actor: Actor | null;
  limitSeconds: number | null;
  id: string;
  created: number;
  deadline: number | null;
}

/** Lines, and columns if it is not whole lines; all count from 1, the ends are included. */
export interface Range {
  startLine: number;
  endLine: number;
  startColumn?: number | null;
  endColumn?: number | null;
}

/** Arguments of the reading commands. */
export interface ReadFile {
  path: string;
  startLine?: number | null;
  endLine?: number | null;
}

/** What one edit did: how often, and the lines it touched as they are numbered now (the first 20 places). */
export interface Replaced {
  count: number;
  ranges: Lines[];
}

/** What would be said of another text in place of the one that was asked about. */
export interface Review {
  level: string;
  reason: string;
  shown: string;
  parts: Part[];
  detail: Record<string, unknown>;
}

/** Arguments of `openspace.safety.judge`. */
export interface SafetyJudge {
  command: string;
}

/** How a line is judged, why, and the commands that it consists of. */
export interface SafetyJudgedLine {
  level: "dangerous" | "safe" | "unknown";
  reason: string;
  commands: SafetyJudgedPart[];
}

/** One simple command of a line; `words` are what the shell would make of it, as far as that can be said. */
export interface SafetyJudgedPart {
  text: string;
  level: "dangerous" | "safe" | "unknown";
  reason: string;
  words: string[];
}

/** A session as others see it. */
export interface SessionInfo {
  id: string;
  name: string;
  connector: string;
  status: string;
  created: number;
  state: AgentState;
  paused: boolean;
  pending: number;
  consent: string;
  scopes: ("arrange" | "run" | "see" | "write")[];
  attached: AttachedTerminal[];
}

/** Arguments of `openspace.terminal.set_limit`. */
export interface SetLimit {
  maxTerminals: number;
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

/** One thing shown in a pane: a file by its path, a terminal by its id. */
export interface Tab {
  id: string;
  type: "editor" | "presentation" | "terminal" | "whiteboard";
  content: string;
  title: string;
  owner: string;
  pinned: boolean;
}

/** Who typed where. */
export interface TerminalAuthors {
  ink: Ink[];
}

/** Arguments of `openspace.terminal.create`. */
export interface TerminalCreate {
  title?: string | null;
  cwd?: string | null;
  shellPath?: string | null;
  cols?: number | null;
  rows?: number | null;
  env?: Record<string, string | null>;
  interactive?: boolean;
}

/** The new terminal and the pane that shows it. */
export interface TerminalCreated {
  terminalId: string;
  title: string;
  paneId: string;
  note: string;
}

/** A line and where it begins. */
export interface TerminalFoundLine {
  position: number;
  line: string;
}

/** Lines that matched, the newest last. */
export interface TerminalFoundLines {
  matches: TerminalFoundLine[];
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

/** All terminals. */
export interface TerminalListed {
  terminals: TerminalInfo[];
}

/** A terminal. */
export interface TerminalOne {
  terminalId: string;
}

/** Lines as a person would see them; `position` is where the next read goes on. */
export interface TerminalOutput {
  output: string[];
  position: number;
  gap: [number, number] | null;
  truncated: boolean;
  blind: boolean;
  note: string;
}

/** Arguments of `openspace.terminal.read_output`. */
export interface TerminalReadOutput {
  terminalId: string;
  lines?: number;
  since?: number | null;
}

/** Arguments of `openspace.terminal.screen`. */
export interface TerminalReadScreen {
  terminalId: string;
  since?: number | null;
}

/** Arguments of `openspace.terminal.rename`. */
export interface TerminalRename {
  terminalId: string;
  title: string;
}

/** The title that it has now. */
export interface TerminalRenamed {
  title: string;
  note: string;
}

/** What a fresh screen of this size prints: the past, then the present; output goes on at the position. */
export interface TerminalReplayed {
  past: Piece[];
  screen: string;
  position: number;
  cols: number;
  rows: number;
}

/** Arguments of `openspace.terminal.resize`. */
export interface TerminalResize {
  terminalId: string;
  cols: number;
  rows: number;
  hideRedraw?: boolean;
}

/** What is on the screen. */
export interface TerminalScreenful {
  rows: string[];
  cursor: [number, number];
  size: [number, number];
  alternate: boolean;
  revision: number;
  changed: ([number, string])[] | null;
}

/** Arguments of `openspace.terminal.search`. */
export interface TerminalSearch {
  terminalId: string;
  pattern: string;
  limit?: number;
}

/** Arguments of `openspace.terminal.send`. */
export interface TerminalSend {
  terminalId: string;
  text: string;
}

/** Read from this position to see only what the text caused; `note` says that a line waits for its Enter. */
export interface TerminalSent {
  position: number;
  note: string;
}

/** Arguments of `openspace.terminal.wait`. */
export interface TerminalWaitFor {
  terminalId: string;
  pattern?: string | null;
  finished?: boolean;
  inputWanted?: boolean;
  port?: boolean;
  quietSeconds?: number | null;
  since?: number | null;
  deadlineSeconds?: number;
}

/** Which condition it was: exit, finished, pattern, quiet, input, port or deadline. */
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

/** Arguments of `openspace.terminal.authors`. */
export interface TerminalWhoTyped {
  terminalId: string;
  since?: number;
}

/** Arguments of `openspace.tool.bash`. */
export interface ToolBash {
  command: string;
}

/** Arguments of `openspace.tool.execute_command`. */
export interface ToolExecuteCommand {
  command: string;
  args?: string[];
  input?: string | null;
  timeoutSeconds?: number;
  env?: Record<string, string | null>;
  workingDirectory?: string | null;
}

/** A piece of an output; `next` is the offset of the next one, or null at the end. */
export interface ToolPiece {
  output: string;
  offset: number;
  characters: number;
  next: number | null;
}

/** What came of a command; `characters` and `lines` are true totals, `outputId` is there when text was left out. */
export interface ToolRan {
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
}

/** Arguments of `openspace.tool.read_output`. */
export interface ToolReadOutput {
  outputId: string;
  offset?: number;
  limit?: number;
}

/** Arguments of `openspace.tool.run_script`. */
export interface ToolRunScript {
  script: string;
  input?: string | null;
  timeoutSeconds?: number;
  env?: Record<string, string | null>;
  workingDirectory?: string | null;
}

/** One terminal of the list; `position` is where your next terminal_continue reads on. */
export interface ToolTerminalActive {
  sessionId: string;
  title: string;
  command: string;
  position: number;
  running: boolean;
  uptimeSeconds: number;
  exitCode: number | null;
  yours: boolean;
}

/** All terminals, and the same as a table. */
export interface ToolTerminalActiveList {
  sessions: ToolTerminalActive[];
  text: string;
}

/** What a terminal printed since the last look. */
export interface ToolTerminalCollected {
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

/** The terminal that is gone. */
export interface ToolTerminalStopped {
  sessionId: string;
  text: string;
}

/** Arguments of `openspace.tool.terminal_continue`. */
export interface ToolTerminalTerminalContinue {
  sessionId: string;
  stdin?: string | null;
}

/** Arguments of `openspace.tool.terminal_start`. */
export interface ToolTerminalTerminalStart {
  command: string;
  stdin?: string | null;
}

/** Arguments of `openspace.tool.terminal_stop`. */
export interface ToolTerminalTerminalStop {
  sessionId: string;
}

/** What agents did, newest first. */
export interface WorkbenchActions {
  actions: Action[];
}

/** The whole state, as a page that has just connected needs it. */
export interface WorkbenchEverything {
  workspace: string;
  program: string;
  state: Snapshot;
  terminals: TerminalInfo[];
  agents: SessionInfo[];
  questions: Question[];
  actions: Action[];
  manifestVersion: string;
  warnings: boolean;
}

/** Arguments of `openspace.workbench.answer`. */
export interface WorkbenchGiveAnswer {
  questionId: string;
  choice: "always" | "deny" | "edit" | "once" | "session";
  text?: string | null;
  args?: Record<string, unknown> | null;
  reason?: string;
  scopes?: ("arrange" | "run" | "see" | "write")[] | null;
}

/** Arguments of `openspace.workbench.review`. */
export interface WorkbenchJudgeEdit {
  questionId: string;
  text: string;
}

/** Open questions, the oldest first. */
export interface WorkbenchQuestions {
  questions: Question[];
}

/** What was undone or redone, and newer actions that cannot be. */
export interface WorkbenchTurned {
  action: Action;
  passed: Action[];
}

/** Arguments of `openspace.workbench.undo`. */
export interface WorkbenchUndo {
  callId?: string | null;
}

export interface Commands {
  "openspace.agent.attach": { args: AgentAttach; result: AgentAttachedNow };
  "openspace.agent.configure": { args: AgentConfigure; result: AgentConfigured };
  "openspace.agent.consent": { args: AgentConsent; result: BaseNothing };
  "openspace.agent.describe": { args: AgentOne; result: Described };
  "openspace.agent.detach": { args: AgentAttach; result: AgentAttachedNow };
  "openspace.agent.drop_rule": { args: AgentDropRule; result: BaseNothing };
  "openspace.agent.end": { args: AgentOne; result: BaseNothing };
  "openspace.agent.help": { args: HelpExplain; result: Help };
  "openspace.agent.list": { args: Record<string, never>; result: AgentListed };
  "openspace.agent.list_chats": { args: AgentOne; result: ControlsChats };
  "openspace.agent.load_chat": { args: ControlsLoadChat; result: BaseNothing };
  "openspace.agent.pause": { args: AgentOne; result: BaseNothing };
  "openspace.agent.prompt": { args: AgentAsk; result: BaseNothing };
  "openspace.agent.reset": { args: AgentOne; result: BaseNothing };
  "openspace.agent.resume": { args: AgentOne; result: BaseNothing };
  "openspace.agent.rules": { args: AgentOne; result: AgentRules };
  "openspace.agent.set_mode": { args: ControlsSetMode; result: BaseNothing };
  "openspace.agent.set_option": { args: ControlsSetOption; result: BaseNothing };
  "openspace.agent.sign_in": { args: ControlsSignIn; result: BaseNothing };
  "openspace.agent.start": { args: AgentStart; result: AgentStarted };
  "openspace.agent.stop": { args: AgentStop; result: AgentStopped };
  "openspace.change.keep": { args: ChangeSettle; result: BaseNothing };
  "openspace.change.list": { args: Record<string, never>; result: Changes };
  "openspace.change.revert": { args: ChangeSettle; result: BaseNothing };
  "openspace.editor.clear_highlight": { args: EditorClearHighlight; result: BaseNothing };
  "openspace.editor.clear_highlights": { args: EditorClearHighlights; result: BaseNothing };
  "openspace.editor.close": { args: EditorOnePath; result: BaseNothing };
  "openspace.editor.discard": { args: EditorOnePath; result: BaseNothing };
  "openspace.editor.escape": { args: Record<string, never>; result: BaseNothing };
  "openspace.editor.highlight": { args: EditorSetHighlight; result: EditorHighlighted };
  "openspace.editor.list": { args: Record<string, never>; result: EditorHighlights };
  "openspace.editor.open": { args: EditorOpen; result: EditorOpened };
  "openspace.editor.read_file": { args: ReadFile; result: FileContent };
  "openspace.editor.save": { args: EditorSave; result: EditorSaved };
  "openspace.editor.scroll_to": { args: EditorScrollTo; result: BaseNothing };
  "openspace.editor.set_draft": { args: EditorSetDraft; result: BaseNothing };
  "openspace.file.edit": { args: EditFile; result: FileEdited };
  "openspace.file.list": { args: FileList; result: FileListed };
  "openspace.file.read": { args: FileReadAny; result: FileContent };
  "openspace.file.remove": { args: FileRemove; result: BaseNothing };
  "openspace.file.search": { args: FileSearch; result: Found };
  "openspace.file.write": { args: FileWrite; result: FileWrote };
  "openspace.pane.close": { args: PaneOne; result: BaseNothing };
  "openspace.pane.focus": { args: PaneOne; result: BaseNothing };
  "openspace.pane.list": { args: Record<string, never>; result: PaneListed };
  "openspace.pane.move": { args: PaneMove; result: BaseNothing };
  "openspace.pane.open": { args: PaneOpen; result: PaneOpened };
  "openspace.pane.pin": { args: PanePin; result: BaseNothing };
  "openspace.pane.resize": { args: PaneResize; result: BaseNothing };
  "openspace.pane.set_sizes": { args: PaneSetSizes; result: BaseNothing };
  "openspace.safety.judge": { args: SafetyJudge; result: SafetyJudgedLine };
  "openspace.terminal.authors": { args: TerminalWhoTyped; result: TerminalAuthors };
  "openspace.terminal.close": { args: TerminalOne; result: BaseNothing };
  "openspace.terminal.create": { args: TerminalCreate; result: TerminalCreated };
  "openspace.terminal.exec": { args: Exec; result: ExecStarted };
  "openspace.terminal.hand_back": { args: TerminalOne; result: BaseNothing };
  "openspace.terminal.interrupt": { args: TerminalOne; result: BaseNothing };
  "openspace.terminal.kill": { args: ExecKill; result: BaseNothing };
  "openspace.terminal.limit": { args: Record<string, never>; result: Limit };
  "openspace.terminal.list": { args: Record<string, never>; result: TerminalListed };
  "openspace.terminal.read_output": { args: TerminalReadOutput; result: TerminalOutput };
  "openspace.terminal.rename": { args: TerminalRename; result: TerminalRenamed };
  "openspace.terminal.replay": { args: TerminalOne; result: TerminalReplayed };
  "openspace.terminal.resize": { args: TerminalResize; result: BaseNothing };
  "openspace.terminal.screen": { args: TerminalReadScreen; result: TerminalScreenful };
  "openspace.terminal.search": { args: TerminalSearch; result: TerminalFoundLines };
  "openspace.terminal.send": { args: TerminalSend; result: TerminalSent };
  "openspace.terminal.set_limit": { args: SetLimit; result: Limit };
  "openspace.terminal.show": { args: TerminalOne; result: BaseNothing };
  "openspace.terminal.take_over": { args: TerminalOne; result: BaseNothing };
  "openspace.terminal.wait": { args: TerminalWaitFor; result: TerminalWaited };
  "openspace.tool.bash": { args: ToolBash; result: ToolRan };
  "openspace.tool.execute_command": { args: ToolExecuteCommand; result: ToolRan };
  "openspace.tool.read_output": { args: ToolReadOutput; result: ToolPiece };
  "openspace.tool.run_script": { args: ToolRunScript; result: ToolRan };
  "openspace.tool.terminal_continue": { args: ToolTerminalTerminalContinue; result: ToolTerminalCollected };
  "openspace.tool.terminal_list": { args: Record<string, never>; result: ToolTerminalActiveList };
  "openspace.tool.terminal_start": { args: ToolTerminalTerminalStart; result: ToolTerminalCollected };
  "openspace.tool.terminal_stop": { args: ToolTerminalTerminalStop; result: ToolTerminalStopped };
  "openspace.workbench.actions": { args: Record<string, never>; result: WorkbenchActions };
  "openspace.workbench.answer": { args: WorkbenchGiveAnswer; result: BaseNothing };
  "openspace.workbench.platform": { args: Record<string, never>; result: PlatformInformation };
  "openspace.workbench.questions": { args: Record<string, never>; result: WorkbenchQuestions };
  "openspace.workbench.redo": { args: Record<string, never>; result: WorkbenchTurned };
  "openspace.workbench.review": { args: WorkbenchJudgeEdit; result: Review };
  "openspace.workbench.snapshot": { args: Record<string, never>; result: WorkbenchEverything };
  "openspace.workbench.undo": { args: WorkbenchUndo; result: WorkbenchTurned };
}
