// The one place that knows every panel: signs in, connects, puts the page together.

import "./style/index.css";
import type { Manifest } from "./model/schema.ts";
import { type KeptChats, Model } from "./model/state.ts";
import { Desk } from "./panels/desk.ts";
import { h } from "./panels/dom.ts";
import { Frame } from "./panels/frame.ts";
import { openSpare } from "./panels/terminal.ts";
import { Theme } from "./panels/theme.ts";
import { Toasts } from "./panels/toasts.ts";
import { begin } from "./wire/begin.ts";
import { headers } from "./wire/key.ts";
import { Link } from "./wire/link.ts";

const PATIENCE_MS = 150;

openSpare();
const link = new Link();
const model = new Model();
const desk = new Desk(model, link, new Theme(), new Toasts(() => model.warnings));
const frame = new Frame(desk);

// The page is put together before it is drawn; a server that is slow to tell what there is does not keep it away.
const patience = setTimeout(appear, PATIENCE_MS);

function appear(): void {
  clearTimeout(patience);
  if (!frame.element.isConnected) document.body.replaceChildren(frame.element, desk.toasts.element);
}

let asking = false;
let again = false;

// The whole state anew. What is told while the answer is on its way may be missing in it.
async function takeSnapshot(): Promise<void> {
  if (asking) {
    again = true; // what is missed now may have happened after the state that is on its way
    return;
  }
  asking = true;
  again = false;
  const since = model.follow();
  const answer = await link.call("openspace.workbench.snapshot", {});
  asking = false;
  if (answer.success) {
    model.reset(answer, since);
    frame.connected();
  }
  if (again) void takeSnapshot();
}

// Null when it does not come: the connection is lost then as well, and with the next one it is asked for again.
async function read<T>(path: string): Promise<T | null> {
  try {
    const response = await fetch(path, { headers: headers() });
    return response.ok ? ((await response.json()) as T) : null;
  } catch {
    return null;
  }
}

async function takeManifest(): Promise<void> {
  const manifest = await read<Manifest>("/openspace/manifest");
  if (manifest) model.setManifest(manifest);
}

// What was said before this page came, or while it was not connected.
async function takeChats(): Promise<void> {
  const since = model.recordChats();
  const kept = await read<KeptChats>("/openspace/chats");
  if (kept) model.restoreChats(kept, since);
}

model.onMissed = () => {
  void takeSnapshot();
  void takeChats();
};
model.onOdd = (text) => console.warn(text);
model.onManifest = () => void takeManifest();
model.onActions = () => {
  void link.call("openspace.workbench.actions", {}).then((answer) => {
    if (!answer.success) return;
    model.actions = answer.actions;
    model.signals.fire(["actions"]);
  });
};

link.needsHand = (command, args) => model.needsHand(command, args);
link.onEvent = (event) => model.apply(event);
link.onFirst = ({ state, screens }) => {
  if (model.rev >= 0) return; // the connection was faster
  desk.screens = screens;
  model.reset(state);
  setTimeout(appear); // behind the terminals' turn, which was asked for just now: what is drawn first has their text
};
link.onHello = (hello) => {
  model.me = hello.actor.id;
  model.browsers = hello.browsers ?? 1;
  void takeSnapshot();
  void takeChats();
  if (hello.manifest !== model.manifestVersion) void takeManifest();
  model.signals.fire(["presence"]);
};
link.onStatus = (status) => {
  if (status.kind === "refused") {
    showSignIn();
    return;
  }
  model.signals.fire(["connection"]);
};

// A further browser may have to be allowed by one that is signed in: then the answer to its code takes a while.
const WAIT_MS = 1500;

function showWaiting(): void {
  clearTimeout(patience);
  document.body.replaceChildren(
    h(
      "main",
      { class: "gone" },
      h("h1", {}, "Allow this browser"),
      h("p", {}, "Agents run here without a sandbox, so a further browser has to be allowed: answer the question “Allow this browser?” on the page in the browser that is signed in."),
    ),
  );
}

function showSignIn(): void {
  clearTimeout(patience);
  document.body.replaceChildren(
    h(
      "main",
      { class: "gone" },
      h("h1", {}, "This browser is not signed in"),
      h("p", {}, "The link has expired or was already used. Get a new one in the workspace with:"),
      h("p", {}, h("code", {}, `${model.program} open`)),
      h("p", {}, "After ", h("code", {}, "make run"), " it is ", h("code", {}, ".venv/bin/fourhands open"), ", typed where you ran that."),
    ),
  );
}

// What tests look at, in a build of their own: it could make any call as the person.
if (import.meta.env.MODE === "journeys") {
  Object.defineProperty(window, "__fh", {
    value: {
      model,
      link,
      desk,
      get terminals() {
        return frame.terminals();
      },
      get editors() {
        return frame.editors();
      },
    },
  });
}

const begun = window.begun ?? begin();
const waiting = setTimeout(showWaiting, WAIT_MS);
void begun.socket.then(() => {
  clearTimeout(waiting);
  if (!frame.element.isConnected && link.status.kind !== "refused") appear();
});
link.start(begun);
