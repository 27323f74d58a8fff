// An editor by the official TypeScript SDK: `node acp_editor.mjs SDK CWD PROGRAM ARG…`. What it saw is printed as JSON.
// The SDK holds each message of the other side to the schema, and refuses what does not fit.

import { spawn } from "node:child_process";
import { pathToFileURL } from "node:url";
import { Readable, Writable } from "node:stream";

const [, , sdk, cwd, program, ...args] = process.argv;
const acp = await import(pathToFileURL(`${sdk}/dist/v1/stable/acp.js`));
const { agent, client: served } = acp.methods;
const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
const seen = { updates: [], asked: [], elicited: [], completed: [] };
const content = { name: "Ann" };

const editor = acp
  .client({ name: "editor" })
  .onRequest(served.session.requestPermission, ({ params }) => {
    seen.asked.push(params.toolCall.title);
    return { outcome: { outcome: "selected", optionId: params.options[0].optionId } };
  })
  .onRequest(served.elicitation.create, ({ params }) => {
    seen.elicited.push(params);
    return params.mode === "form" ? { action: "accept", content } : { action: "accept" };
  })
  .onNotification(served.session.update, ({ params }) => void seen.updates.push(params.update))
  .onNotification(served.elicitation.complete, ({ params }) => void seen.completed.push(params.elicitationId));

const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
await editor.connectWith(stream, async (context) => {
  const ask = (method, params) => context.request(method, params);
  const clientCapabilities = { fs: {}, elicitation: { form: {}, url: {} } };
  seen.hello = await ask(agent.initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities, clientInfo: { name: "node", version: "1" } });
  const { sessionId, ...begun } = await ask(agent.session.new, { cwd, mcpServers: [], additionalDirectories: [`${cwd}/part`] });
  seen.begun = begun;
  await ask(agent.session.setMode, { sessionId, modeId: "plan" });
  const prompt = (...blocks) => ask(agent.session.prompt, { sessionId, prompt: blocks });
  seen.stopped = await prompt({ type: "text", text: process.env.EDITOR_ACTIONS });
  await prompt({ type: "text", text: "what is this?" }, { type: "image", mimeType: "image/png", data: "iVBORw0K" });
  const list = async () => (await ask(agent.session.list, {})).sessions.map((one) => one.sessionId);
  seen.listed = (await list()).includes(sessionId);
  seen.closed = await ask(agent.session.close, { sessionId });
  const before = seen.updates.length;
  await ask(agent.session.load, { sessionId, cwd, mcpServers: [] });
  seen.loaded = seen.updates.splice(before);
  seen.deleted = await ask(agent.session.delete, { sessionId });
  seen.deletedAgain = await ask(agent.session.delete, { sessionId });
  seen.listedAfter = (await list()).includes(sessionId);
  seen.refused = await ask(agent.session.new, { cwd, mcpServers: [], additionalDirectories: ["/etc"] }).catch((error) => ({ code: error.code, message: error.message }));
});
child.stdin.end();
await new Promise((resolve) => child.on("exit", resolve));
console.log(JSON.stringify(seen));
