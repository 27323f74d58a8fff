// The browser's key: exchanged once for the code in the address, kept in the origin's own storage, sent with every call.

const STORED = "fourhands.key";

export function storedKey(): string {
  return localStorage.getItem(STORED) ?? "";
}

// Take the one-time code out of the address. A used one must neither stay in the history nor be sent again by a reload.
export function takeCode(): string {
  const code = new URLSearchParams(location.hash.slice(1)).get("code") ?? "";
  if (code) history.replaceState(null, "", location.pathname + location.search);
  return code;
}

// Exchange a code for a key; one that is no longer good leaves what is stored.
export async function exchange(code: string): Promise<string> {
  const response = await fetch("/api/browser", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
  });
  if (!response.ok) return storedKey();
  const { key } = (await response.json()) as { key: string };
  localStorage.setItem(STORED, key);
  return key;
}

export function headers(): Record<string, string> {
  return { "x-fourhands-key": storedKey() };
}

export function protocols(): string[] {
  return ["fourhands", `fourhands.key.${storedKey()}`];
}

export function socketAddress(path: string): string {
  return `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}`;
}
