// Two live regions for screen readers: what happened (polite), what is asked (at once).

import type { Desk } from "./desk.ts";
import { describe } from "../model/steps.ts";
import { h } from "./dom.ts";

export function liveRegions(desk: Desk): HTMLElement {
  const polite = h("div", { "aria-live": "polite", role: "status" });
  const urgent = h("div", { "aria-live": "assertive", role: "alert" });
  desk.announce = (text, now = false) => {
    (now ? urgent : polite).textContent = text;
  };
  let told = "";
  desk.model.signals.on("activity", () => {
    const step = desk.model.activity.find((one) => one.actorKind === "agent" && one.state !== "running");
    if (!step || step.callId === told) return;
    told = step.callId;
    const words = describe(step, desk.model.title).filter(Boolean).join(" ");
    desk.announce(`${step.actorName}: ${step.state === "failed" ? "failed: " : ""}${words}`);
  });
  return h("div", { class: "away" }, polite, urgent);
}
