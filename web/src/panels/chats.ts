// The chats that an agent remembers, to go on with one or to delete one for good.

import { ago } from "../model/steps.ts";
import type { PastChat } from "../wire/types.ts";
import type { Desk } from "./desk.ts";
import { h } from "./dom.ts";

export function showChats(desk: Desk, sessionId: string, chats: PastChat[]): void {
  const before = document.activeElement;
  const list = h("ul", { class: "chats" });
  const none = h("p", { class: "none" }, "It remembers no chats of this workspace.");
  const done = h("button", { class: "button" }, "Close");
  const dialog = h("dialog", { "aria-labelledby": "chats-title" }, h("div", { class: "dialog" }, h("h2", { id: "chats-title" }, "Past chats"), list, none, h("div", { class: "row" }, done)));
  const close = () => {
    dialog.close();
    dialog.remove();
    if (before instanceof HTMLElement && before.isConnected) before.focus();
  };
  const counted = () => (none.hidden = list.children.length > 0);

  const row = (chat: PastChat): HTMLElement => {
    const title = chat.title || chat.id;
    const at = Date.parse(chat.updated);
    const when = Number.isNaN(at) ? "" : ago((Date.now() - at) / 1000);
    const doing = h("span", { class: "doing" });
    const entry = h("li", {}, h("span", { class: "name", title: chat.id }, title), h("time", {}, when), doing);
    const button = (label: string, style: string, run: () => void) => h("button", { class: `button small ${style}`, "aria-label": `${label}: ${title}`, on: { click: run } }, label);
    const offer = (focus = false) => {
      const remove = button("Delete", "", () => confirm());
      doing.replaceChildren(button("Resume", "", () => void resume()), remove);
      if (focus) remove.focus();
    };
    // Asked in place: what is deleted is in sight, and the way back has the focus.
    const confirm = () => {
      const keep = button("Keep", "", () => offer(true));
      doing.replaceChildren(button("Delete for good", "bad", () => void remove()), keep);
      keep.focus();
    };
    const resume = async () => {
      close();
      await desk.run("openspace.agent.load_chat", { sessionId, chat: chat.id });
    };
    const remove = async () => {
      const answer = await desk.run("openspace.agent.delete_chat", { sessionId, chat: chat.id });
      if (!answer.success) return offer(true);
      const next = entry.nextElementSibling ?? entry.previousElementSibling;
      entry.remove();
      counted();
      (next?.querySelector<HTMLElement>("button") ?? done).focus();
      desk.announce(`Deleted ${title}`);
    };
    offer();
    return entry;
  };

  list.append(...chats.map(row));
  counted();
  done.addEventListener("click", close);
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    close();
  });
  document.body.append(dialog);
  dialog.showModal();
  (list.querySelector<HTMLElement>("button") ?? done).focus();
}
