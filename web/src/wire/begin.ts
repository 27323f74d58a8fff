// The first thing that runs: signs in and connects while the rest of the page is still being put together.

import { exchange, storedKey, takeCode } from "./key.ts";
import { Link } from "./link.ts";

export const link = new Link();

function connect(key: string): boolean {
  if (key) link.start();
  return key !== "";
}

const code = takeCode();

// Whether this browser may be here. Without a code nothing is waited for, not even a turn of the event loop.
export const signedIn: Promise<boolean> = code ? exchange(code).then(connect) : Promise.resolve(connect(storedKey()));
