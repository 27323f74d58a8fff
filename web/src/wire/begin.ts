// What comes before all else: signs in and connects. It is written into the page itself, so that this is done while the
// rest of the page is still on its way.

import { type Hand, takeHand } from "./hand.ts";
import { askFirst, exchange, type First, protocols, socketAddress, storedKey, takeCode } from "./key.ts";

export interface Begun {
  signedIn: Promise<string>; // the key that came with it, yet to be kept
  first: Promise<First | null>; // is here before there is a connection
  socket: Promise<WebSocket | null>; // null: this browser is not signed in
  hand: Promise<Hand | null>; // null: this page cannot sign
  early: string[]; // frames that came before there was a listener
}

declare global {
  interface Window {
    begun?: Begun;
  }
}

export function begin(): Begun {
  const early: string[] = [];
  const connect = (key: string): WebSocket | null => {
    if (!key) return null;
    const socket = new WebSocket(socketAddress("/ws?attend=1"), protocols(key));
    socket.onmessage = (message) => early.push(String(message.data));
    return socket;
  };
  const hand = takeHand();
  const code = takeCode();
  if (code) {
    const exchanged = hand.then((made) => exchange(code, made));
    return {
      early,
      hand,
      signedIn: exchanged.then((given) => given?.key ?? ""),
      first: exchanged.then((given) => given?.first ?? null),
      socket: exchanged.then((given) => connect(given?.key ?? storedKey())),
    };
  }
  const key = storedKey();
  return {
    early,
    hand,
    signedIn: Promise.resolve(""),
    first: key ? askFirst() : Promise.resolve(null),
    socket: Promise.resolve(connect(key)),
  };
}
