// Plays output into the page's terminal, without a page. Asked by lines of JSON on stdin, answers each with one on stdout.
//
// {cols, rows, whole, cuts: [{screen, rest}]}: `whole` is played into one terminal; each cut's screen, then its rest (an
// index into the whole), into another: a fresh one, and now and then one that has shown something else before, as on the
// page when a viewer has fallen behind. The answer lists what is different, at the cut itself and at the end.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const web = new URL("../../web/", import.meta.url);
const require = createRequire(new URL("package.json", web));
const { Terminal } = require("@xterm/headless");
const typescript = require("typescript");

// A module of the page as it is.
async function load(path) {
  const { outputText } = typescript.transpileModule(readFileSync(new URL(path, web), "utf8"), {
    compilerOptions: { module: "esnext", target: "es2023" },
  });
  return import(`data:text/javascript,${encodeURIComponent(outputText)}`);
}

const { widths } = await load("src/model/widths.ts");
const { afresh } = await load("src/model/afresh.ts");

const SCROLLBACK = 2000;
const USED_EVERY = 8; // cuts
const [P16, P256] = [0x1000000, 0x2000000]; // xterm.js's names for a colour's kind

function open(cols, rows) {
  const term = new Terminal({ cols, rows, allowProposedApi: true, scrollback: SCROLLBACK, logLevel: "off" });
  term.unicode.register(widths);
  term.unicode.activeVersion = widths.version;
  const seen = { term, title: "", colours: {} };
  term.onTitleChange((title) => (seen.title = title));
  term._core._inputHandler.onColor((events) => {
    for (const { type, index, color } of events) {
      if (type === 1) seen.colours[index] = String(color);
      else if (type === 2) index === undefined ? (seen.colours = {}) : delete seen.colours[index];
    }
  });
  return seen;
}

const write = ({ term }, data) => new Promise((done) => term.write(data, done));

// The emulator does not keep which of its two names a program used for one of the first 16 colours.
const colour = (mode, value) => (mode === P256 && value < 16 ? `${P16} ${value}` : `${mode} ${value}`);

function pen(attributes, links) {
  const { extended } = attributes;
  const its = attributes.isUnderlineColorDefault() || extended.underlineColor === -1 ? "" : attributes.getUnderlineColor();
  const underline = attributes.isUnderline() ? [extended.underlineStyle, its] : [];
  const flags = ["Bold", "Dim", "Italic", "Blink", "Inverse", "Invisible", "Strikethrough", "Overline", "Protected"];
  return [
    colour(attributes.getFgColorMode(), attributes.getFgColor()),
    colour(attributes.getBgColorMode(), attributes.getBgColor()),
    flags.filter((flag) => attributes[`is${flag}`]()).join(" "),
    underline.join(":"),
    extended.urlId ? links.getLinkData(extended.urlId)?.uri : "",
  ].join(",");
}

// One line as text: each run of cells of one kind, with its pen. A blank shows its background, and nothing else of its pen.
// Whether it goes on in the next line is not compared: xterm.js forgets that when a line feed enters a line, others do not.
function line(row, cols, links, cell) {
  const out = [];
  let last = null;
  for (let x = 0; x < cols; x++) {
    row.loadCell(x, cell);
    const text = cell.getWidth() === 0 && cell.getChars() === "" ? "\u2190" : cell.getChars();
    const kind = text === "" ? `blank ${colour(cell.getBgColorMode(), cell.getBgColor())}` : text === "\u2190" ? last : pen(cell, links);
    if (kind !== last) out.push(`{${kind}}`);
    last = kind;
    out.push(text === "" ? "\u00b7" : text);
  }
  return out.join("").replace(/\{blank 0 -1\}\u00b7*$/, "");
}

// The same cells for sure: no need to spell them.
function same(one, other, cols) {
  for (let n = 0; n < 3 * cols; n++) if (one._data[n] !== other._data[n]) return false;
  return !Object.keys(one._combined).length && !Object.keys(one._extendedAttrs).length;
}

function charset(set) {
  return set ? Object.keys(set).length : 0;
}

// All that a program's next output can meet, with the lines from a first one on.
function state({ term, title, colours }, from = 0) {
  const core = term._core;
  const { coreService, _charsetService: charsets, _bufferService: buffers } = core;
  const links = core._oscLinkService;
  const cell = term.buffer.active.getNullCell();
  const found = { title, colours: JSON.stringify(Object.entries(colours).sort()) };
  found.modes = JSON.stringify([coreService.modes, coreService.decPrivateModes, coreService.isCursorHidden, term.modes, term.options.convertEol]);
  found.mouse = `${core.coreMouseService?.activeProtocol} ${core.coreMouseService?.activeEncoding}`;
  // A restored cursor brings its set along, and leaves the one that was chosen for the level as it is.
  const sets = [0, 1, 2, 3].map((level) => charset(level === charsets.glevel ? charsets.charset : charsets._charsets[level]));
  found.charsets = `${charsets.glevel} ${sets}`;
  found.pen = pen(core._inputHandler._curAttrData, links);
  found.shown = buffers.buffer === buffers.buffers.alt ? "alternate" : "normal";
  for (const name of ["normal", "alt"]) {
    const buffer = buffers.buffers[name];
    if (name === "alt" && found.shown === "normal") break; // emptied before it is shown again
    // That of the screen which is not shown is that of the other one when it is shown again.
    if (buffer === buffers.buffer) found.cursor = `${buffer.x},${buffer.y}`;
    found[`${name} region`] = `${buffer.scrollTop},${buffer.scrollBottom}`;
    found[`${name} tabs`] = Object.keys(buffer.tabs).filter((x) => buffer.tabs[x] && x > 0 && x < term.cols - 1).join(",");
    // Taken back, it comes to the last column where it was saved behind it.
    found[`${name} saved`] = `${Math.min(buffer.savedX, term.cols - 1)},${Math.max(0, buffer.savedY - buffer.ybase)} ${pen(buffer.savedCurAttrData, links)} ${charset(buffer.savedCharset)}`;
    found[`${name} lines`] = { buffer, first: name === "alt" ? 0 : from, count: buffer.ybase + term.rows, links, cell, cols: term.cols };
  }
  return found;
}

function differences(whole, restored) {
  const found = [];
  for (const name of new Set([...Object.keys(whole), ...Object.keys(restored)])) {
    const [one, other] = [whole[name], restored[name]];
    if (name.endsWith("lines") && one && other) {
      const [length, got] = [one.count - one.first, other.count - other.first];
      if (length !== got) found.push(`${name}: ${length} became ${got}`);
      for (let y = 0; y < Math.min(length, got); y++) {
        const [row, its] = [one.buffer.lines.get(one.first + y), other.buffer.lines.get(other.first + y)];
        if (same(row, its, one.cols)) continue;
        const [text, became] = [line(row, one.cols, one.links, one.cell), line(its, one.cols, other.links, other.cell)];
        if (text !== became) found.push(`${name} ${y}: ${JSON.stringify(text)} became ${JSON.stringify(became)}`);
      }
    } else if (one !== other) found.push(`${name}: ${JSON.stringify(one)} became ${JSON.stringify(other)}`);
  }
  return found;
}

const above = ({ term }) => term._core._bufferService.buffers.normal.ybase;

async function compare({ cols, rows, whole, cuts }) {
  const bytes = Buffer.from(whole, "base64");
  const original = open(cols, rows);
  const found = [];
  const restored = [];
  let at = 0;
  for (const [index, { screen, rest }] of cuts.entries()) {
    await write(original, bytes.subarray(at, rest));
    at = rest;
    const other = open(cols, rows);
    if (index % USED_EVERY === 0) {
      await write(other, bytes);
      await write(other, afresh(rows));
      other.title = "";
    }
    await write(other, screen);
    let from = [above(original), above(other)];
    const here = differences(state(original, from[0]), state(other, from[1]));
    if (here.length) found.push({ cut: rest, when: "at the cut", what: here });
    await write(other, bytes.subarray(rest));
    if (bytes.includes("\x1b[3J", rest) || bytes.includes("\x1bc", rest)) from = [0, 0]; // what was above is gone
    restored.push([rest, other, from]);
  }
  await write(original, bytes.subarray(at));
  for (const [rest, other, from] of restored) {
    const later = differences(state(original, from[0]), state(other, from[1]));
    if (later.length) found.push({ cut: rest, when: "at the end", what: later });
    other.term.dispose();
  }
  original.term.dispose();
  return found;
}

for await (const request of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await compare(JSON.parse(request)))}\n`);
}
