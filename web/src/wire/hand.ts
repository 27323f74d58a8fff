// The person's hand: a key pair of this browser's own, whose private half no program can read out, not even this page.
// It is kept in the browser's database, so that it is there after a reload. The server has the public half, and counts
// an answer, consent or whatever loosens something only with this signature.
//
// WebCrypto is there on secure origins only (https, localhost). Elsewhere there is no hand: this page can look and work,
// and says that questions are to be answered where it is reached securely.

const DATABASE = "fourhands";
const STORE = "hand";
const KEY = "key";
const CURVE = { name: "ECDSA", namedCurve: "P-256" };

export interface Hand {
  publicKey: string;
  sign(text: string): Promise<string>;
}

export const handPossible = (): boolean => window.isSecureContext && typeof indexedDB !== "undefined";

// This browser's hand, made if there is none; null where there can be none.
export async function takeHand(): Promise<Hand | null> {
  if (!handPossible()) return null;
  const pair = await storedPair();
  const publicKey = encoded(await crypto.subtle.exportKey("raw", pair.publicKey));
  return {
    publicKey,
    sign: async (text) =>
      encoded(await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, pair.privateKey, new TextEncoder().encode(text))),
  };
}

async function storedPair(): Promise<CryptoKeyPair> {
  try {
    const database = await opened();
    const found = await asked<CryptoKeyPair | undefined>(database.transaction(STORE).objectStore(STORE).get(KEY));
    if (found) return found;
    const made = await crypto.subtle.generateKey(CURVE, false, ["sign", "verify"]);
    const writing = database.transaction(STORE, "readwrite").objectStore(STORE);
    // Two pages that are opened together must end up with one key: the first one stays.
    const kept = await asked<CryptoKeyPair | undefined>(writing.get(KEY));
    if (kept) return kept;
    await asked(writing.put(made, KEY));
    return made;
  } catch {
    // A window without storage: the key lasts as long as the page.
    return crypto.subtle.generateKey(CURVE, false, ["sign", "verify"]);
  }
}

function opened(): Promise<IDBDatabase> {
  const request = indexedDB.open(DATABASE, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(STORE);
  return asked(request);
}

function asked<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("the browser's database failed"));
  });
}

function encoded(bytes: ArrayBuffer): string {
  return btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
