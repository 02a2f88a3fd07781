// The official SDK for JavaScript against `codebutler mcp serve`.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [parts, program] = process.argv.slice(2);
const require = createRequire(parts + "/package.json");
const load = (name) => import(pathToFileURL(require.resolve("@modelcontextprotocol/sdk/" + name)).href);
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");

const client = new Client({ name: "test", version: "1" });
const env = { ...process.env };
await client.connect(new StdioClientTransport({ command: program, args: ["mcp", "serve", "--no-cards"], env }));
const tools = (await client.listTools()).tools.map((tool) => tool.name);
const status = await client.callTool({ name: "status", arguments: {} });
const odd = await client.callTool({ name: "read_thread", arguments: { thread: "nowhere" } });
let unknown = "";
try {
  await client.callTool({ name: "answer_card", arguments: {} });
} catch (error) {
  unknown = String(error);
}
const said = { version: client.getServerVersion(), tools, status: JSON.parse(status.content[0].text), odd, unknown };
await client.close();
console.log(JSON.stringify(said));
