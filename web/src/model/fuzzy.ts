// The choice among many names by a few letters: letters in order, beginnings of words and runs count more.

export interface Ranked<T> {
  item: T;
  score: number;
  hits: number[];
}

export function score(query: string, text: string): { score: number; hits: number[] } | null {
  const wanted = query.toLowerCase().replace(/\s+/g, "");
  if (wanted === "") return { score: 0, hits: [] };
  const lower = text.toLowerCase();
  const whole = lower.indexOf(query.toLowerCase().trim());
  if (whole >= 0) {
    const length = query.trim().length;
    const start = whole === 0 || /[\s./_-]/.test(lower[whole - 1] ?? "") ? 50 : 0;
    return { score: 100 + start + length - text.length / 100, hits: range(whole, length) };
  }
  const hits: number[] = [];
  let at = 0;
  let total = 0;
  for (const letter of wanted) {
    const found = lower.indexOf(letter, at);
    if (found < 0) return null;
    if (found === at && at > 0) total += 3;
    else if (found === 0 || /[\s./_-]/.test(lower[found - 1] ?? "")) total += 4;
    else total -= Math.min(3, found - at);
    hits.push(found);
    at = found + 1;
  }
  return { score: total - text.length / 100, hits };
}

export function rank<T>(query: string, items: readonly T[], text: (item: T) => string): Ranked<T>[] {
  const found: Ranked<T>[] = [];
  for (const item of items) {
    const scored = score(query, text(item));
    if (scored) found.push({ item, ...scored });
  }
  return query.trim() === "" ? found : found.sort((a, b) => b.score - a.score);
}

function range(from: number, length: number): number[] {
  return Array.from({ length }, (_, index) => from + index);
}
