// Whether this browser has a graphics card to draw with.

import { isPlayed } from "../model/graphics.ts";

let found: boolean | undefined;

export function hasGraphics(): boolean {
  return (found ??= look());
}

function look(): boolean {
  const context = document.createElement("canvas").getContext("webgl2", { failIfMajorPerformanceCaveat: true });
  if (!context) return false;
  const told = context.getExtension("WEBGL_debug_renderer_info"); // some browsers keep it to themselves
  const renderer = told ? String(context.getParameter(told.UNMASKED_RENDERER_WEBGL)) : "";
  context.getExtension("WEBGL_lose_context")?.loseContext();
  return !isPlayed(renderer);
}
