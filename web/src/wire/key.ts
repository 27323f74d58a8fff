// The browser's key: exchanged once for the code in the address, kept in the origin's own storage, sent with every call.

const STORED = "fourhands.key";

export function storedKey(): string {
  return localStorage.getItem(STORED) ?? "";
}

// Take the code out of the address and exchange it; without one, what is stored is used.
export async function signIn(): Promise<string> {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (!code) return storedKey();
  // A used code must neither stay in the history nor be sent again by a reload.
  history.replaceState(null, "", location.pathname + location.search);
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
