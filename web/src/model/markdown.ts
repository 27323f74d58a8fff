// Markdown as a tree of plain values, for text that arrives in pieces: any prefix of a text is a text.
//
// No HTML comes in or out: a tag is shown as the characters that it is. Only http, https and mailto are links.

export type Inline =
  | { kind: "text" | "code"; text: string }
  | { kind: "strong" | "em" | "del"; children: Inline[] }
  | { kind: "link"; href: string; children: Inline[] };

export type Block =
  | { kind: "paragraph"; children: Inline[] }
  | { kind: "heading"; level: number; children: Inline[] }
  | { kind: "code"; language: string; text: string; open: boolean }
  | { kind: "list"; ordered: boolean; start: number; items: Block[][] }
  | { kind: "quote"; children: Block[] }
  | { kind: "table"; head: Inline[][]; rows: Inline[][][] }
  | { kind: "rule" };

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/;
const BULLET = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const DEEPEST = 8;

export function parseMarkdown(text: string, depth = 0): Block[] {
  const lines = text.replace(/\r\n?/g, "\n").split("\n");
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at]!;
    if (line.trim() === "") {
      at++;
      continue;
    }
    const fence = FENCE.exec(line);
    if (fence) {
      const body: string[] = [];
      const mark = fence[1]!;
      at++;
      let open = true;
      while (at < lines.length) {
        const next = lines[at++]!;
        if (next.trim().startsWith(mark) && next.trim().replaceAll(mark[0]!, "") === "") {
          open = false;
          break;
        }
        body.push(next);
      }
      blocks.push({ kind: "code", language: fence[2] ?? "", text: body.join("\n"), open });
      continue;
    }
    const heading = HEADING.exec(line);
    if (heading) {
      blocks.push({ kind: "heading", level: heading[1]!.length, children: parseInline(heading[2]!) });
      at++;
      continue;
    }
    if (RULE.test(line)) {
      blocks.push({ kind: "rule" });
      at++;
      continue;
    }
    if (/^ {0,3}>/.test(line) && depth < DEEPEST) {
      const inner: string[] = [];
      while (at < lines.length && /^ {0,3}>/.test(lines[at]!)) inner.push(lines[at++]!.replace(/^ {0,3}> ?/, ""));
      blocks.push({ kind: "quote", children: parseMarkdown(inner.join("\n"), depth + 1) });
      continue;
    }
    if (BULLET.test(line) && depth < DEEPEST) {
      at = readList(lines, at, depth, blocks);
      continue;
    }
    if (line.includes("|") && /^\s*\|?[\s:|-]*-[\s:|-]*$/.test(lines[at + 1] ?? "") && lines[at + 1]!.includes("|")) {
      const head = cells(line);
      at += 2;
      const rows: Inline[][][] = [];
      while (at < lines.length && lines[at]!.includes("|")) rows.push(cells(lines[at++]!));
      blocks.push({ kind: "table", head, rows });
      continue;
    }
    const paragraph: string[] = [];
    while (at < lines.length && lines[at]!.trim() !== "" && (paragraph.length === 0 || !begins(lines[at]!))) {
      paragraph.push(lines[at++]!.trim());
    }
    blocks.push({ kind: "paragraph", children: parseInline(paragraph.join("\n")) });
  }
  return blocks;
}

function begins(line: string): boolean {
  return FENCE.test(line) || HEADING.test(line) || /^ {0,3}>/.test(line) || BULLET.test(line);
}

function readList(lines: string[], at: number, depth: number, blocks: Block[]): number {
  const first = BULLET.exec(lines[at]!)!;
  const indent = first[1]!.length;
  const ordered = /\d/.test(first[2]!);
  const items: string[][] = [];
  while (at < lines.length) {
    const line = lines[at]!;
    const bullet = BULLET.exec(line);
    if (bullet && bullet[1]!.length <= indent + 1 && /\d/.test(bullet[2]!) === ordered && bullet[1]!.length >= indent) {
      items.push([bullet[3]!]);
    } else if (line.trim() === "") {
      const next = lines[at + 1] ?? "";
      if (!BULLET.test(next) && !/^\s{2,}\S/.test(next)) break;
      items.at(-1)?.push("");
    } else if (/^\s/.test(line) && line.search(/\S/) > indent) {
      items.at(-1)?.push(line.slice(Math.min(line.search(/\S/), indent + first[2]!.length + 1)));
    } else if (bullet || begins(line)) {
      break;
    } else {
      items.at(-1)?.push(line);
    }
    at++;
  }
  const start = ordered ? Number.parseInt(first[2]!, 10) : 1;
  blocks.push({ kind: "list", ordered, start, items: items.map((item) => parseMarkdown(item.join("\n"), depth + 1)) });
  return at;
}

function cells(line: string): Inline[][] {
  return line
    .trim()
    .replace(/^\||\|$/g, "")
    .split("|")
    .map((cell) => parseInline(cell.trim()));
}

const MARKS: [RegExp, "strong" | "em" | "del"][] = [
  [/^\*\*(?=\S)([\s\S]*?\S)\*\*/, "strong"],
  [/^__(?=\S)([\s\S]*?\S)__(?!\w)/, "strong"],
  [/^~~(?=\S)([\s\S]*?\S)~~/, "del"],
  [/^\*(?=\S)([^*]*?[^\s*])\*/, "em"],
  [/^_(?=\S)([^_]*?[^\s_])_(?!\w)/, "em"],
];

export function parseInline(text: string, depth = 0): Inline[] {
  const out: Inline[] = [];
  let plain = "";
  const flush = () => {
    if (plain) out.push({ kind: "text", text: plain });
    plain = "";
  };
  let at = 0;
  next: while (at < text.length) {
    const letter = text[at]!;
    const rest = text.slice(at);
    if (letter === "\\" && /^\\[\\`*_{}[\]()#+.!~|>-]/.test(rest)) {
      plain += rest[1]!;
      at += 2;
      continue;
    }
    if (letter === "`") {
      const code = /^(`+)([\s\S]*?[^`])\1(?!`)/.exec(rest);
      if (code) {
        flush();
        out.push({ kind: "code", text: code[2]!.replace(/^ (.*) $/, "$1") });
        at += code[0].length;
        continue;
      }
    }
    if (depth < DEEPEST && "*_~".includes(letter) && !(letter === "_" && /\w$/.test(text.slice(0, at)))) {
      for (const [pattern, kind] of MARKS) {
        const found = pattern.exec(rest);
        if (found) {
          flush();
          out.push({ kind, children: parseInline(found[1]!, depth + 1) });
          at += found[0].length;
          continue next;
        }
      }
    }
    if (letter === "[" && depth < DEEPEST) {
      const link = /^\[((?:[^\[\]]|\[[^\]]*\])*)\]\(\s*<?([^\s<>()]+(?:\([^\s()]*\))?)>?(?:\s+"[^"]*")?\s*\)/.exec(rest);
      if (link && safe(link[2]!)) {
        flush();
        out.push({ kind: "link", href: link[2]!, children: parseInline(link[1]!, depth + 1) });
        at += link[0].length;
        continue;
      }
    }
    if (letter === "h" && !/\w$/.test(text.slice(Math.max(0, at - 1), at))) {
      const bare = /^https?:\/\/[^\s<>"'`]*[^\s<>"'`.,;:!?)\]}]/.exec(rest);
      if (bare) {
        flush();
        out.push({ kind: "link", href: bare[0], children: [{ kind: "text", text: bare[0] }] });
        at += bare[0].length;
        continue;
      }
    }
    plain += letter;
    at++;
  }
  flush();
  return out;
}

function safe(href: string): boolean {
  return /^(https?:\/\/|mailto:)/i.test(href);
}
