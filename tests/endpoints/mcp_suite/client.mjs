// The TypeScript SDK's client: lists the tools of a door, calls one, asks an agent, and prints what it heard as JSON.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const headers = { Authorization: `Bearer ${process.env.WORKBENCH_TOKEN}` };
const client = new Client({ name: "typescript", version: "1.0.0" });
const progress = [];
await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[2]), { requestInit: { headers } }));
const { tools } = await client.listTools();
const added = await client.callTool({ name: "add", arguments: { a: 2, b: 3 } });
const asked = await client.callTool({ name: "ask_clerk", arguments: { message: "Hello" } }, undefined, {
  onprogress: ({ message }) => progress.push(message),
  resetTimeoutOnProgress: true,
});
console.log(
  JSON.stringify({
    tools: tools.map((tool) => tool.name),
    added: added.structuredContent,
    asked: asked.structuredContent,
    progress,
  }),
);
await client.close();
