// Lines that differ between two texts, with a little of what is around them.

export interface Line {
  kind: "same" | "add" | "del" | "skip";
  text: string;
}

const AROUND = 3;
const MOST = 4_000_000; // cells of the table; beyond that the middle is shown as replaced

export function diffLines(before: string, after: string): Line[] {
  const a = split(before);
  const b = split(after);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const middle = between(a.slice(start, a.length - end), b.slice(start, b.length - end));
  const same = (text: string): Line => ({ kind: "same", text });
  return fold([...a.slice(0, start).map(same), ...middle, ...a.slice(a.length - end).map(same)]);
}

function split(text: string): string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

// The longest common subsequence, by the table: files that people read are small.
function between(a: string[], b: string[]): Line[] {
  if (a.length * b.length > MOST) {
    return [...a.map((text): Line => ({ kind: "del", text })), ...b.map((text): Line => ({ kind: "add", text }))];
  }
  const width = b.length + 1;
  const table = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i * width + j] =
        a[i] === b[j]
          ? table[(i + 1) * width + j + 1]! + 1
          : Math.max(table[(i + 1) * width + j]!, table[i * width + j + 1]!);
    }
  }
  const out: Line[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      out.push({ kind: "same", text: a[i++]! });
      j++;
    } else if (j >= b.length || (i < a.length && table[(i + 1) * width + j]! >= table[i * width + j + 1]!)) {
      out.push({ kind: "del", text: a[i++]! });
    } else {
      out.push({ kind: "add", text: b[j++]! });
    }
  }
  return out;
}

function fold(lines: Line[]): Line[] {
  const near = lines.map(() => false);
  lines.forEach((line, index) => {
    if (line.kind === "same") return;
    for (let at = Math.max(0, index - AROUND); at <= Math.min(lines.length - 1, index + AROUND); at++) near[at] = true;
  });
  const out: Line[] = [];
  let hidden = 0;
  const flush = () => {
    if (hidden) out.push({ kind: "skip", text: `⋯ ${hidden} line${hidden === 1 ? "" : "s"}` });
    hidden = 0;
  };
  lines.forEach((line, index) => {
    if (near[index]) {
      flush();
      out.push(line);
    } else {
      hidden++;
    }
  });
  flush();
  return out;
}
