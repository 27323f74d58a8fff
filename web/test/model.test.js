// The model without a browser: `npm test` compiles it without the DOM library and runs this by Node alone.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Chat } from "../.test/model/chat.js";
import { toolNews } from "../.test/model/tool.js";
import { diffParts, unifiedLines } from "../.test/model/diff.js";
import { limitsOf, typedDefault, typedValue } from "../.test/model/form.js";
import { rank, score } from "../.test/model/fuzzy.js";
import { moveSash, place, sideAt, withSizes } from "../.test/model/geometry.js";
import { Marks, stretches } from "../.test/model/ink.js";
import { matches, nameOf, parseKey, readBound } from "../.test/model/keys.js";
import { parseInline, parseMarkdown } from "../.test/model/markdown.js";
import { matching, readOffers } from "../.test/model/offers.js";
import { AHEAD, Outgoing, PIECE } from "../.test/model/outgoing.js";
import { isReply } from "../.test/model/reply.js";
import { argumentsOf, parseValue } from "../.test/model/schema.js";
import { Model } from "../.test/model/state.js";
import { ago, describe, outside } from "../.test/model/steps.js";
import { columns, widths } from "../.test/model/widths.js";

const pane = (id) => ({ kind: "pane", id, tabs: [], activeTab: "" });
const split = (direction, sizes, children) => ({ kind: "split", id: "s1", direction, sizes, children });

const snapshot = (rev) => ({
  workspace: "/w",
  program: ".venv/bin/fourhands",
  state: { format: 1, rev, layout: { root: null, activePane: null }, editors: [], drafts: [], highlights: [] },
  terminals: [],
  agents: [],
  questions: [],
  actions: [],
  manifestVersion: "1",
});
const change = (rev, data) => ({ kind: "pane.opened", data: { rev, kind: "pane.opened", subject: "", ...data }, revision: rev, actor: null, time: 0 });
const event = (kind, data, actor = null) => ({ kind, data, revision: null, actor, time: 1 });

test("a change at or below the revision is ignored, the next one is taken", () => {
  const model = new Model();
  model.reset(snapshot(5));
  model.apply(change(5, { layout: { root: pane("old"), activePane: "old" } }));
  assert.equal(model.layout.root, null);
  model.apply(change(6, { layout: { root: pane("new"), activePane: "new" } }));
  assert.equal(model.layout.root.id, "new");
  assert.equal(model.rev, 6);
});

test("a change too far ahead asks for a snapshot and changes nothing", () => {
  const model = new Model();
  let asked = 0;
  model.onMissed = () => asked++;
  model.reset(snapshot(5));
  model.apply(change(7, { layout: { root: pane("x"), activePane: "x" } }));
  model.apply(event("events.missed", { count: 3 }));
  assert.equal(asked, 2);
  assert.equal(model.rev, 5);
});

test("an agent that its client's configuration lets in is told of at once", () => {
  const model = new Model();
  const notices = [];
  model.onNotice = (text) => notices.push(text);
  model.reset(snapshot(4));
  const allowedBy = "allowed by the client's configuration (--allow see)";
  model.apply(event("agent.started", { session: { id: "sess_1", name: "ci", allowedBy } }));
  model.apply(event("agent.started", { session: { id: "sess_2", name: "Ada", allowedBy: "" } }));
  assert.deepEqual(notices, [`ci: ${allowedBy}`]);
  model.apply(event("agent.consented", { session: "sess_1", consent: "unasked", scopes: [], allowedBy: "" }));
  assert.equal(model.agents.get("sess_1")?.allowedBy, "");
});

test("what is told while the state is on its way is not lost with an older state", () => {
  const model = new Model();
  model.reset(snapshot(4));
  const since = model.follow();
  const ada = { id: "sess_1", name: "Ada", paused: false, consent: "unasked" };
  const told = (kind, data) => model.apply(event(kind, data));
  told("agent.started", { session: ada });
  told("agent.paused", { session: "sess_1" });
  told("question.asked", { id: "q1", session: "sess_1" });
  told("question.asked", { id: "q2", session: "sess_1" });
  told("question.answered", { id: "q2", session: "sess_1", choice: "once", by: null, reason: "" });
  told("terminal.created", { terminal: { id: "term_1", title: "build" } });
  told("agent.noted", { session: "sess_1", text: "once" });
  model.apply(change(5, { highlights: [{ id: "a" }] }));
  model.reset(snapshot(4), since); // from before all of it
  assert.equal(model.agents.get("sess_1")?.paused, true);
  assert.deepEqual([...model.questions.keys()], ["q1"]);
  assert.deepEqual([...model.terminals.keys()], ["term_1"]);
  assert.deepEqual([...model.highlights.keys()], ["a"]);
  assert.equal(model.rev, 5);
  assert.equal(model.chat("sess_1").items.length, 1);
  model.reset(snapshot(9), model.follow()); // nothing was told meanwhile: that is how it is
  assert.equal(model.agents.size + model.questions.size + model.terminals.size, 0);
});

test("before there is a state, changes of it wait for it", () => {
  const model = new Model();
  model.onMissed = () => assert.fail("it was asked for already");
  const since = model.follow();
  model.apply(change(8, { highlights: [{ id: "a" }] }));
  assert.equal(model.rev, -1);
  model.reset(snapshot(7), since);
  assert.deepEqual([...model.highlights.keys()], ["a"]);
  assert.equal(model.rev, 8);
});

test("calls of an agent become steps; the page's own reading is not listed", () => {
  const model = new Model();
  const agent = { kind: "agent", id: "s1", name: "Ada" };
  const you = { kind: "person", id: "person", name: "you" };
  const call = (id, command, extra) => ({ callId: id, command, session: extra.session ?? null, origin: "socket", number: 1, args: { path: "a.py" }, ...extra });
  model.apply(event("call.started", call("1", "openspace.editor.open", { session: "s1" }), agent));
  assert.equal(model.chat("s1").items[0].step.state, "running");
  model.apply(event("call.finished", call("1", "openspace.editor.open", { session: "s1", ok: true }), agent));
  assert.equal(model.chat("s1").items.length, 1);
  assert.equal(model.activity[0].state, "done");
  model.apply(event("call.finished", call("2", "openspace.file.list", { ok: true }), you));
  assert.equal(model.activity.length, 1);
});

test("the same failure again is counted, not repeated", () => {
  const model = new Model();
  const agent = { kind: "agent", id: "s1", name: "Ada" };
  for (const id of ["1", "2", "3"]) {
    model.apply(event("call.finished", { callId: id, command: "openspace.editor.open", session: "s1", args: {}, ok: false, error: "no", severity: "error" }, agent));
  }
  assert.equal(model.activity.length, 1);
  assert.equal(model.activity[0].count, 3);
});

test("panes fill the area and sashes lie between them", () => {
  const placed = place(split("vertical", [30, 70], [pane("a"), split("horizontal", [50, 50], [pane("b"), pane("c")])]));
  assert.deepEqual(placed.panes.map((one) => one.box), [
    { x: 0, y: 0, width: 30, height: 100 },
    { x: 30, y: 0, width: 70, height: 50 },
    { x: 30, y: 50, width: 70, height: 50 },
  ]);
  assert.equal(placed.sashes.length, 2);
});

test("a sash keeps the sum and leaves each side its least", () => {
  const tree = split("vertical", [50, 50], [pane("a"), pane("b")]);
  const box = { x: 0, y: 0, width: 100, height: 100 };
  for (const delta of [-1000, -10.04, 0, 3.3, 1000]) {
    const sizes = moveSash(tree, 0, delta, box);
    assert.equal(Math.round((sizes[0] + sizes[1]) * 10), 1000);
    assert.ok(Math.min(...sizes) >= 4);
  }
  assert.deepEqual(withSizes(tree, "s1", [10, 90]).sizes, [10, 90]);
  assert.equal(sideAt(0.1, 0.5), "left");
  assert.equal(sideAt(0.5, 0.5), "center");
});

test("any prefix of a markdown text is shown, and no HTML comes of it", () => {
  const text = "# A\n\nHi **you** <b>x</b> `c`\n\n```py\nx = 1\n```\n\n1. a\n2. b\n   - c\n\n> q\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n[l](https://e.org) [bad](javascript:x)";
  for (let end = 0; end <= text.length; end++) parseMarkdown(text.slice(0, end));
  const blocks = parseMarkdown(text);
  assert.deepEqual(blocks.map((block) => block.kind), ["heading", "paragraph", "code", "list", "quote", "table", "paragraph"]);
  const links = blocks.at(-1).children.filter((inline) => inline.kind === "link");
  assert.deepEqual(links.map((link) => link.href), ["https://e.org"]);
  assert.deepEqual(parseInline("a_b_c"), [{ kind: "text", text: "a_b_c" }]);
});

test("hostile markdown ends soon", { timeout: 20_000 }, () => {
  for (const text of ["*".repeat(5000), "[".repeat(3000), ">".repeat(3000), "`".repeat(5000), "- ".repeat(2000), "**a".repeat(2000)]) parseMarkdown(text);
});

test("streamed words join by message, tools keep their title", () => {
  const chat = new Chat();
  chat.said("said", "Hel", "m1", false);
  chat.said("said", "lo", "m1", true);
  chat.tool("t1", toolNews({ title: "Read file", status: "pending" }));
  chat.tool("t1", toolNews({ status: "completed", content: [{ type: "terminal", terminalId: "term_1" }] }));
  assert.equal(chat.items[0].text, "Hello");
  assert.deepEqual([chat.items[1].title, chat.items[1].status], ["Read file", "completed"]);
});

test("a terminal's answers are told from keys", () => {
  for (const reply of ["\x1b[?1;2c", "\x1b[>0;276;0c", "\x1b[0n", "\x1b]11;rgb:1414/1616/1a1a\x1b\\", "\x1b[?2026;2$y", "\x1b[I"]) assert.ok(isReply(reply, false), JSON.stringify(reply));
  for (const key of ["a", "\r", "\x1b", "\x1b[A", "\x1b[1;2R", "\x1bOP", "\x1b[200~x\x1b[201~", "\x1b[<0;1;1M"]) assert.ok(!isReply(key, false), JSON.stringify(key));
  assert.ok(isReply("\x1b[12;40R", true));
});

test("ink is painted on the rows that follow it", () => {
  const marks = new Marks();
  [0, 10, 20, 30].forEach((position, row) => marks.add({ position, row: () => row }));
  assert.equal(marks.before(25).row(), 2);
  const at = (position, kind) => ({ ink: { position, actor: kind, kind, time: 0 }, row: marks.before(position).row });
  const shown = stretches([at(0, "person"), at(20, "agent")], 0, 10, 5);
  assert.deepEqual(shown.map((one) => [one.from, one.to, one.ink.kind]), [[0, 1, "person"], [2, 5, "agent"]]);
});

test("keys are those of the manifest", () => {
  const press = (key, mods = {}) => ({ key, code: `Key${key.toUpperCase()}`, ctrlKey: false, altKey: false, shiftKey: false, metaKey: false, ...mods });
  assert.ok(matches(press("z", { ctrlKey: true, altKey: true }), parseKey("Ctrl Alt Z")));
  assert.ok(matches(press("~", { ctrlKey: true, shiftKey: true }), parseKey("Ctrl Shift `")));
  assert.ok(!matches(press("z", { ctrlKey: true }), parseKey("Ctrl Alt Z")));
});

test("arguments come from the schema, required ones first, and bad values say what is wanted", () => {
  const [path, line] = argumentsOf({ required: ["path"], properties: { line: { anyOf: [{ type: "integer" }, { type: "null" }], default: null }, path: { type: "string", description: "Where." } } });
  assert.deepEqual([path.name, path.required, line.form], ["path", true, "number"]);
  assert.equal(parseValue(line, ""), undefined);
  assert.equal(parseValue(line, "12"), 12);
  assert.throws(() => parseValue(line, "x"), /number/);
  assert.throws(() => parseValue({ ...path, form: "choice", choices: ["a"] }, "b"), /one of: a/);
});

test("one odd entry of a manifest costs none of the others", () => {
  const model = new Model();
  const told = [];
  model.onOdd = (text) => told.push(text);
  const good = { id: "openspace.file.read", label: "Read", description: "Reads.", category: "file", key: null, danger: false, actors: ["person"], hand: false, readOnly: true, undoable: false, example: null, announced: false, arguments_schema: { properties: { path: { type: "string" } }, required: ["path"] } };
  const seed = { id: "openspace.presentation.create", name: "Create", description: "Makes one." };
  const garbage = [null, 5, "x", [], {}, { id: 5 }, { id: "" }, undefined, true, good];
  const wild = { id: "openspace.wild.one", label: 7, actors: "person", key: {}, danger: "yes", readOnly: 1, example: [], description: null, arguments_schema: { properties: { a: null, b: { anyOf: "x", enum: 5, type: 9, description: [] }, c: { type: ["string", null] }, __proto__: 1 }, required: "a" } };
  model.setManifest({ version: "1", commands: [good, ...garbage, seed, wild] });
  assert.deepEqual([...model.commands.keys()], [good.id, seed.id, wild.id]);
  assert.deepEqual(model.commands.get(good.id), good);
  const made = model.commands.get(seed.id);
  assert.deepEqual([made.label, made.actors, made.category, made.key, made.readOnly], ["Create", ["person", "agent"], "presentation", null, false]);
  assert.deepEqual(argumentsOf(made.arguments_schema), []);
  const odd = model.commands.get(wild.id);
  assert.deepEqual([odd.label, odd.actors, odd.key, odd.danger, odd.readOnly], [wild.id, ["person", "agent"], null, false, false]);
  assert.deepEqual(argumentsOf(odd.arguments_schema).map((one) => [one.name, one.form, one.required]), [["a", "json", false], ["b", "json", false], ["c", "text", false]]);
  assert.equal(told.length, garbage.length);
  for (const commands of [undefined, null, {}, "x"]) model.setManifest({ version: "2", commands });
  assert.deepEqual([model.commands.size, model.manifestVersion], [3, "1"]); // what was there stays
  let deep = {};
  for (let level = 0; level < 5000; level++) deep = { properties: { x: deep }, anyOf: [deep] };
  model.setManifest({ version: "3", commands: [{ id: "openspace.deep.one", arguments_schema: deep }] });
  assert.equal(argumentsOf(model.commands.get("openspace.deep.one").arguments_schema).length, 1);
});

test("a few letters find the name", () => {
  assert.ok(score("nt", "New terminal"));
  assert.equal(score("xyz", "New terminal"), null);
  assert.equal(rank("term", ["Open a file", "New terminal"], (one) => one)[0].item, "New terminal");
});

test("a diff shows what changed and a little around it", () => {
  const before = Array.from({ length: 50 }, (_, n) => `line ${n}`).join("\n");
  const hunk = (beforeStart, beforeLines, afterStart, afterLines) => ({ beforeStart, beforeLines, afterStart, afterLines });
  const after = before.replace("line 25", "other").replace("line 40\n", "");
  const parts = diffParts(before, after, [hunk(25, 1, 25, 1), hunk(40, 1, 40, 0)]);
  assert.deepEqual(parts.map((part) => part.hunk), [null, 0, null, 1, null]);
  assert.deepEqual(parts[1].lines, [{ kind: "del", text: "line 25" }, { kind: "add", text: "other" }]);
  assert.deepEqual(parts[0].lines.map((line) => line.text), ["⋯ 22 lines", "line 22", "line 23", "line 24"]);
  assert.deepEqual(parts[2].lines.map((line) => line.kind), ["same", "same", "same", "skip", "same", "same", "same"]);
  assert.deepEqual(parts[3].lines, [{ kind: "del", text: "line 40" }]);
  assert.deepEqual(diffParts("", "a\n", [hunk(0, 0, 0, 1)]), [{ hunk: 0, lines: [{ kind: "add", text: "a" }] }]);
  assert.deepEqual(unifiedLines("@@ -1 +1 @@\n-a\n+b\n c").map((line) => line.kind), ["skip", "del", "add", "same"]);
});

test("a key of one's own has a name, and none that is in the way of typing", () => {
  const press = (key, code, more) => ({ key, code, ctrlKey: false, altKey: false, shiftKey: false, metaKey: false, ...more });
  assert.equal(nameOf(press("¥", "KeyY", { ctrlKey: true, altKey: true })), "Ctrl Alt Y");
  assert.equal(nameOf(press("!", "Digit1", { metaKey: true, shiftKey: true })), "Ctrl Shift 1");
  assert.equal(nameOf(press("F5", "F5")), "F5");
  for (const other of [press("a", "KeyA"), press("c", "KeyC", { ctrlKey: true }), press("F1", "F1"), press("é", "KeyE", { altKey: true })]) {
    assert.equal(nameOf(other), "");
  }
  assert.deepEqual([...readBound('{"F5": {"command": "a.b", "args": {}}, "F6": {"command": 1}, "F7": null}').keys()], ["F5"]);
  for (const broken of [null, "", "{", "[]", "7"]) assert.equal(readBound(broken).size, 0);
});

test("a row in which both typed has both authors", () => {
  const at = (row, kind, time) => ({ ink: { position: time, actor: kind, kind, time }, row: () => row });
  const shown = stretches([at(1, "person", 1), at(3, "person", 2), at(3, "agent", 3), at(6, "agent", 4)], 0, 9, 7);
  assert.deepEqual(
    shown.map((one) => [one.from, one.to, one.ink.kind, one.other?.kind ?? ""]),
    [[1, 2, "person", ""], [3, 3, "agent", "person"], [4, 5, "agent", ""], [6, 7, "agent", ""]],
  );
});

test("deeds are put into words", () => {
  const words = (command, args) => describe({ command, args }, (id) => id).join(" ").trim();
  assert.equal(words("openspace.editor.open", { path: "a.py", line: 3 }), "opened a.py:3");
  assert.equal(words("openspace.terminal.send", { terminalId: "sh", text: "ls\n" }), "ran ls in sh");
  assert.equal(words("openspace.file.edit", { path: "a.py", edits: [] }), "edited a.py");
  assert.equal(words("openspace.file.write", { path: "a.py", content: "x", append: true }), "added to a.py");
  assert.equal(words("openspace.thing.do_it", {}), "thing: do it");
  assert.equal(ago(75), "1 min");
});

test("chats that the server kept are shown, with what came since and what waits here", () => {
  const model = new Model();
  const event = (kind, time, data) => ({ kind, time, data: { session: "s1", ...data }, revision: null, actor: null });
  const failures = [];
  model.onFailure = (failure) => failures.push(failure);
  model.apply(event("agent.said", 1, { text: "old", messageId: "m0" }));
  model.chat("s1").you("not sent yet", true);
  const since = model.recordChats();
  model.apply(event("agent.said", 3, { text: "lo", messageId: "m1" })); // in what the server kept
  model.apply(event("agent.said", 5, { text: "!", messageId: "m1" })); // after it
  const call = { kind: "call.finished", time: 3, revision: null, actor: { kind: "agent", id: "s1", name: "Ada" } };
  const data = { callId: "c1", command: "openspace.editor.open", session: "s1", ok: false, severity: "error", error: "no" };
  const chats = { s1: [event("agent.said", 2, { text: "Hello", messageId: "m1" }), { ...call, data }] };
  model.restoreChats({ time: 4, chats }, since);
  assert.deepEqual(
    model.chat("s1").items.map((item) => item.text ?? item.step.state),
    ["Hello!", "failed", "not sent yet"],
  );
  assert.deepEqual(failures, []);
  model.apply(event("agent.said", 6, { text: "?", messageId: "m1" }));
  assert.equal(model.chat("s1").items[0].text, "Hello!?");
  assert.equal(since.length, 2);
  const [older, newer] = [model.recordChats(), model.recordChats()];
  model.restoreChats({ time: 9, chats }, newer);
  model.restoreChats({ time: 7, chats: {} }, older);
  assert.equal(model.chat("s1").items[0].text, "Hello");
});

test("what an agent says of its tools: the change in words, the file, the terminal", () => {
  const diff = { type: "diff", path: "/w/a.ts", oldText: null, newText: "one\ntwo\n" };
  const said = { type: "content", content: { type: "text", text: "why" } };
  const news = toolNews({ title: "Edit", status: "completed", content: [diff, said], output: { raw: 1 } });
  assert.deepEqual(news, { title: "Edit", status: "completed", detail: "/w/a.ts: 0 → 2 lines\nwhy", terminal: "", path: "/w/a.ts" });
  for (const odd of [{}, { content: "x" }, { content: [null, 1, { type: "content", content: null }] }]) assert.equal(toolNews(odd).detail, "");
});

test("an agent's mode, usage and end reach the model", () => {
  const model = new Model();
  model.apply(event("agent.used", { session: "s1", used: 5, size: 10 }));
  model.apply(event("agent.switched", { session: "s1", mode: "ask", modes: {} }));
  model.apply(event("agent.switched", { session: "s1", mode: "code" }));
  model.apply(event("agent.exited", { session: "s1", error: "it ended: exit code 1", hint: "no key" }));
  assert.deepEqual(model.usage.get("s1"), { used: 5, size: 10 });
  assert.deepEqual(model.chat("s1").items.map((item) => item.text), ["Mode: code", "it ended: exit code 1 — no key"]);
});

test("terminals attached to a chat, and an agent's settings, reach the model", () => {
  const model = new Model();
  const agent = { id: "s1", name: "Ada", status: "idle", state: {}, attached: [{ terminalId: "t1", title: "build" }] };
  model.reset({ ...snapshot(0), agents: [agent] });
  const about = { session: "s1", terminalId: "t2", title: "test" };
  for (const _ of [1, 2]) model.apply(event("agent.attached", about));
  assert.deepEqual(model.agents.get("s1").attached.map((one) => one.title), ["build", "test"]);
  model.apply(event("agent.detached", { ...about, terminalId: "t1", reason: "the terminal has ended" }));
  assert.deepEqual(model.agents.get("s1").attached, [{ terminalId: "t2", title: "test" }]);
  model.apply(event("agent.detached", { ...about, session: "nobody" }));
  model.apply(event("agent.changed", { session: "s1", status: "idle", state: { cwd: "src" } }));
  model.apply(event("agent.changed", { session: "s1", status: "working" }));
  const { status, state } = model.agents.get("s1");
  assert.deepEqual([status, state], ["working", { cwd: "src" }]);
});

test("an agent's own commands: what is none is left out, the beginning of a word finds it", () => {
  const offers = readOffers([
    { name: "test", description: "Run the tests", input: { hint: "which" } },
    { name: "/latest", description: "" },
    { name: "plan", description: "A test plan", input: null },
    { name: "two words" },
    { name: 3 },
    null,
  ]);
  assert.deepEqual(offers.map((offer) => [offer.name, offer.hint]), [["test", "which"], ["latest", ""], ["plan", ""]]);
  assert.deepEqual(matching(offers, "/TEST").map((offer) => offer.name), ["test", "latest", "plan"]);
  assert.deepEqual(matching(offers, "/").length, 3);
  for (const message of ["", "test", "/test it", "see /test", "/none"]) assert.deepEqual(matching(offers, message), []);
  assert.deepEqual(readOffers("nothing"), []);
});

test("a call that the journal could not keep is marked, and it is known until one is kept again", () => {
  const model = new Model();
  model.reset({ ...snapshot(1), warnings: false });
  assert.equal(model.warnings, false);
  model.setManifest({ version: "1", commands: [{ id: "openspace.editor.open", readOnly: false, actors: ["person"] }] });
  const person = { kind: "person", id: "person", name: "you" };
  const finished = (callId, more) => model.apply(event("call.finished", { callId, command: "openspace.editor.open", session: null, args: {}, ok: true, ...more }, person));
  finished("c1", { recorded: false });
  assert.deepEqual([model.unrecorded, model.activity[0].recorded], [true, false]);
  finished("c2", { recorded: true });
  assert.deepEqual([model.unrecorded, model.activity.map((step) => step.recorded)], [false, [true, false]]);
});

test("a line that met the edge of the sandbox, or was refused outside of it, can be run outside", () => {
  const step = { command: "openspace.tool.execute_command", args: { command: "docker", args: ["ps"], workingDirectory: "sub" }, whole: true, edge: true, code: "" };
  assert.deepEqual(outside(step), { command: "docker", args: ["ps"], cwd: "sub" });
  assert.deepEqual(outside({ ...step, command: "openspace.tool.run_script", args: { script: "a\nb" } }), { command: "a\nb" });
  assert.deepEqual(outside({ ...step, edge: false, command: "openspace.terminal.run_outside", args: { command: "x" }, code: "denied" }), { command: "x" });
  for (const not of [{ edge: false }, { edge: false, code: "denied" }, { whole: false }, { args: {} }, { command: "openspace.terminal.send" }]) assert.equal(outside({ ...step, ...not }), null);
});

test("a host that was replaced is told of", () => {
  const model = new Model();
  const told = [];
  model.onNotice = (text) => told.push(text);
  model.apply(event("host.replaced", { text: "The terminal host died and was replaced", terminals: ["term_1"] }));
  assert.deepEqual(told, ["The terminal host died and was replaced"]);
});

const text = (pieces) => Buffer.concat(pieces).toString();
const begun = () => {
  const pieces = [];
  const shown = [];
  const keys = new Outgoing(
    (piece) => pieces.push(piece),
    (progress) => shown.push(progress),
  );
  const sent = () => pieces.reduce((sum, piece) => sum + piece.length, 0);
  return { keys, pieces, shown, sent };
};

test("a key is sent at once, a large paste only so far ahead of what was typed, and keys behind it wait", () => {
  const { keys, pieces, shown, sent } = begun();
  keys.push(Buffer.from("k"));
  assert.equal(text(pieces), "k");
  assert.equal(shown.length, 0);
  const paste = "é漢👍".repeat(200_000);
  keys.push(Buffer.from(paste));
  keys.push(Buffer.from("behind"));
  assert.ok(sent() >= AHEAD && sent() < AHEAD + PIECE + 4);
  assert.ok(keys.busy);
  let typed = 0;
  while (keys.busy) keys.told((typed += Math.min(50_000, sent() - typed)));
  assert.equal(text(pieces), `k${paste}behind`);
  for (const piece of pieces) assert.equal(Buffer.from(Buffer.from(piece).toString()).compare(piece), 0); // no character is cut
  assert.equal(shown.at(-1), null);
  assert.ok(shown.some((progress) => progress && progress.done > 0 && progress.done < progress.total));
});

test("a paste that is cancelled ends its brackets if the program has seen them begin", () => {
  for (const [dropped, end] of [[0, "\x1b[201~"], [AHEAD, ""]]) {
    const { keys, pieces, sent } = begun();
    keys.push(Buffer.from(`\x1b[200~${"x".repeat(1_000_000)}\x1b[201~`));
    const before = sent();
    keys.cancel();
    keys.push(Buffer.from("later"));
    assert.equal(sent(), before);
    keys.told(before, dropped ? before : 0);
    assert.equal(text(pieces).slice(before), `${end}later`);
    assert.ok(!keys.busy);
  }
});

test("with the connection a paste is gone, and it is said how far it came", () => {
  const { keys, shown } = begun();
  keys.push(Buffer.from("x".repeat(1_000_000)));
  keys.told(100_000);
  assert.deepEqual(keys.reset(), { done: 100_000, total: 1_000_000 });
  assert.equal(shown.at(-1), null);
  assert.equal(keys.reset(), null);
});

test("characters take the columns that the emulator counts, and a mark joins what is before it", () => {
  assert.deepEqual(["a", "é", "漢", "👍", "🇩", "🫠", "\u0301", "\u200d"].map((one) => columns(one.codePointAt(0))), [1, 1, 2, 2, 2, 2, 0, 0]);
  const before = widths.charProperties(0x6f22, 0);
  assert.equal((before >> 1) & 3, 2);
  assert.equal(widths.charProperties(0x301, before), before | 1);
});

test("what is typed into a form is a value of its field, or said to be none", () => {
  const field = (kind, more = {}) => ({ name: "f", kind, title: "F", description: "", required: false, default: null, choices: [], least: null, most: null, pattern: "", format: "", secret: false, ...more });
  assert.equal(typedValue(field("text"), " as it is "), " as it is ");
  assert.equal(typedValue(field("text"), ""), null);
  assert.equal(typedValue(field("text", { format: "email" }), " ann@x.org "), "ann@x.org");
  assert.equal(typedValue(field("number"), " 1.5 "), 1.5);
  assert.equal(typedValue(field("integer"), ""), null);
  assert.throws(() => typedValue(field("number"), "many"), /F is a number/);
  assert.throws(() => typedValue(field("integer"), "9007199254740993"), /whole number/);
  const at = field("text", { format: "date-time", default: "2026-01-31T12:00:00Z" });
  assert.equal(typedValue(at, typedDefault(at)), "2026-01-31T12:00:00.000Z");
  assert.throws(() => typedValue(at, "soon"), /a date and a time/);
  assert.equal(typedDefault(field("integer", { default: 3 })), "3");
  assert.equal(typedDefault({ ...at, default: "soon" }), "");
  const limits = (kind, least, most) => limitsOf(field(kind, { least, most }));
  assert.deepEqual([limits("text", 0, 5), limits("text", 2, 5), limits("number", 0, 9), limits("choices", 1, 1), limits("integer", 1, null), limits("text", 0, null)], ["at most 5 characters", "2 to 5 characters", "0 to 9", "1 choice", "1 or more", ""]);
});
