// The official TypeScript client with calls that are tasks, against a workbench over HTTP. It prints what it saw.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CallToolResultSchema,
  CreateTaskResultSchema,
  ElicitRequestSchema,
  TaskStatusNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";

const [url, token] = process.argv.slice(2);
const seen = { asked: [], told: [], progress: 0 };
let watched;

async function connect() {
  const client = new Client({ name: "typescript", version: "1" }, { capabilities: { elicitation: { form: {} } } });
  client.setRequestHandler(ElicitRequestSchema, (request) => {
    seen.asked.push(request.params._meta?.["io.modelcontextprotocol/related-task"]?.taskId);
    return { action: "accept", content: { decision: "once" } };
  });
  client.setNotificationHandler(TaskStatusNotificationSchema, ({ params }) => {
    if (params.taskId === watched) seen.told.push(params.status);
  });
  const headers = { Authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  await client.listTools();
  return client;
}

async function streamed(client, name, args, options) {
  const states = [];
  let id;
  const stream = client.experimental.tasks.callToolStream({ name, arguments: args }, CallToolResultSchema, options);
  for await (const message of stream) {
    if (message.type === "taskCreated") id = message.task.taskId;
    if (message.type === "taskStatus" && states.at(-1) !== message.task.status) states.push(message.task.status);
    if (message.type === "result") return { id, states, text: message.result.content[0].text };
    if (message.type === "error") return { id, states, error: message.error.message };
  }
}

async function begun(client, name, args, task, options) {
  const params = { name, arguments: args, task };
  return (await client.request({ method: "tools/call", params }, CreateTaskResultSchema, options)).task;
}

async function refused(promise) {
  return promise.then(
    () => "no error",
    (error) => ({ code: error.code, message: error.message }),
  );
}

const client = await connect();
const tasks = client.experimental.tasks;
seen.capability = client.getServerCapabilities().tasks;
seen.done = await streamed(client, "bash", { command: "echo hi" });
seen.plain = await streamed(client, "read", { path: "a.txt" });
seen.confirmed = await streamed(client, "bash", { command: "rm -rf build && echo gone" });
seen.failed = await streamed(client, "bash", { comand: "ls" });
const long = await begun(client, "bash", { command: "sleep 1000" }, { ttl: 1000 });
seen.cancelled = await tasks.cancelTask(long.taskId);
seen.again = await refused(tasks.cancelTask(long.taskId));
seen.result = await tasks.getTaskResult(long.taskId, CallToolResultSchema);
seen.unknown = await refused(tasks.getTask("nothing"));
seen.forbidden = await refused(begun(client, "read", { path: "a.txt" }, {}));
const onprogress = ({ progress }) => (seen.progress = progress);
const slow = await begun(client, "bash", { command: "sleep 1" }, {}, { onprogress });
watched = slow.taskId;
await tasks.getTaskResult(slow.taskId, CallToolResultSchema);
while (seen.told.length === 0) await new Promise((done) => setTimeout(done, 20));
const left = await begun(client, "bash", { command: "sleep 1; echo later" }, {});
await client.close();
const back = await connect();
seen.later = (await back.experimental.tasks.getTaskResult(left.taskId, CallToolResultSchema)).content[0].text;
seen.listed = (await back.experimental.tasks.listTasks()).tasks.map((task) => task.status);
await back.close();
console.log(JSON.stringify(seen));
