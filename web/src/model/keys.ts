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
