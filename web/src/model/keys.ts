// Keys as the manifest writes them ("Ctrl Alt Z"), and whether a key press is one of them.

export interface Press {
  key: string;
  code: string;
  ctrlKey: boolean;
  altKey: boolean;
  shiftKey: boolean;
  metaKey: boolean;
}

export interface Key {
  ctrl: boolean;
  alt: boolean;
  shift: boolean;
  name: string;
}

const SHIFTED: Record<string, string> = { ">": ".", "~": "`", "<": ",", "?": "/", "+": "=" };

export function parseKey(text: string): Key {
  const words = text.trim().split(/\s+/);
  const name = (words.pop() ?? "").toLowerCase();
  const has = (word: string) => words.some((one) => one.toLowerCase() === word);
  return { ctrl: has("ctrl"), alt: has("alt"), shift: has("shift"), name };
}

// On a Mac the Command key stands for Ctrl as well.
export function matches(press: Press, key: Key): boolean {
  if ((press.ctrlKey || press.metaKey) !== key.ctrl || press.altKey !== key.alt || press.shiftKey !== key.shift) {
    return false;
  }
  const name = press.key.toLowerCase();
  if (name === key.name || SHIFTED[name] === key.name) return true;
  // Alt changes the letter on some keyboards: then the place of the key counts.
  return key.alt && press.code.toLowerCase() === `key${key.name}`;
}

// A press as the manifest would write it; empty if it has no name of its own or would be in the way of typing.
export function nameOf(press: Press): string {
  const function_ = /^F([2-9]|1[0-2])$/.test(press.key);
  const ctrl = press.ctrlKey || press.metaKey;
  if (!function_ && !((ctrl && press.altKey) || (ctrl && press.shiftKey))) return "";
  const place = /^(?:Key|Digit)(.)$/.exec(press.code)?.[1];
  const name = function_ ? press.key : (place ?? (press.key.length === 1 ? press.key : ""));
  if (!name) return "";
  return [ctrl && "Ctrl", press.altKey && "Alt", press.shiftKey && "Shift", name.toUpperCase()].filter(Boolean).join(" ");
}

export interface Bound {
  command: string;
  args: Record<string, unknown>;
}

// Keys that a person gave to commands, as they are stored: by the key's name.
export function readBound(stored: string | null): Map<string, Bound> {
  try {
    const all = Object.entries(JSON.parse(stored ?? "{}") as Record<string, Bound>);
    return new Map(all.filter(([, bound]) => typeof bound?.command === "string" && typeof bound.args === "object"));
  } catch {
    return new Map();
  }
}
