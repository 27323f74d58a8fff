// Lets the suite's newest release run on Node 20, whose `fs` has no `globSync`; no scenario for servers uses it.
import * as fs from "node:fs";
import { register } from "node:module";
import { isMainThread } from "node:worker_threads";

const shim = `export * from "node:fs"; export { default } from "node:fs"; export const globSync = () => [];`;

if (isMainThread && !fs.globSync) register(import.meta.url);

export async function resolve(name, context, next) {
  if (name !== "fs" || !context.parentURL?.includes("/conformance-next/")) return next(name, context);
  return { url: "data:text/javascript," + encodeURIComponent(shim), shortCircuit: true };
}
