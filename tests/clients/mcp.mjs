// Real MCP servers, from npm and PyPI, as tools of runs: each is listed, pinned and called, and the runs replay without
// them. The model is a few lines here that plan what they are told.
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const npm = (name) => join(here, "node_modules/.bin", name);
const python = (list) => execFileSync("bash", ["-c", `python_with ${list}`]).toString().trim();
const home = mkdtempSync(join(here, "run-"));
process.on("exit", () => rmSync(home, { recursive: true, force: true }));
mkdirSync(join(home, "notes"));
writeFileSync(join(home, "notes/규정.md"), "환불은 30일 안에 신청한다.\n");

// A model that plans the calls at hand, and answers.
let calls = [];
const model = createServer(async (request, response) => {
  let body = "";
  for await (const piece of request) body += piece;
  const steps = [...calls, { tool: "final_answer", input: "say it" }];
  const content = JSON.parse(body).response_format ? JSON.stringify({ goal: "g", steps }) : "done";
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ choices: [{ finish_reason: "stop", message: { role: "assistant", content } }] }));
});
await new Promise((listening) => model.listen(0, "127.0.0.1", listening));
const base = `http://127.0.0.1:${model.address().port}/v1`;

const env = { ...process.env, HOME: home, XDG_CONFIG_HOME: home, MEMORY_FILE_PATH: join(home, "memory.jsonl") };
const planwright = (args, more = {}) =>
  new Promise((ended) => {
    const child = spawn(process.env.PROGRAM, args, { cwd: home, env: { ...env, ...more } });
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (piece) => (stdout += piece));
    child.stderr.on("data", (piece) => (stderr += piece));
    child.on("close", (code) => ended({ code, stdout, stderr }));
  });
const run = async (args, code = 0) => {
  const said = await planwright(args);
  assert.equal(said.code, code, `${args.join(" ")}\n${said.stdout}\n${said.stderr}`);
  return said;
};

// Pins a server, calls its tools in one run, and gives what each returned.
async function check(name, table, steps) {
  writeFileSync(
    join(home, `${name}.toml`),
    `name = "${name}"\n[policy]\nvalidate = "off"\n[policy.plan]\nmax_steps = 20\n` +
      `[roles.planner]\nprompt = "Plan."\n[roles.writer]\nprompt = "Answer."\n[mcp.${name}]\n${table}\n`,
  );
  const agent = ["--agent", `./${name}.toml`];
  const [listed] = JSON.parse((await run(["mcp", "list", ...agent, "--json"])).stdout);
  for (const tool of listed.tools) assert.equal(tool.refused, null, `${tool.tool}: ${tool.refused}`);
  await run(["mcp", "pin", ...agent]);
  await run(["mcp", "pin", "--check", ...agent]);
  calls = steps.map(([tool, input]) => ({ tool: `${name}.${tool}`, input }));
  const record = `${name}.json`;
  const said = await run(["run", ...agent, "--base-url", base, "--model", "m", "--json", "--record", record, "go"]);
  // Where the server was is no program any more.
  const replayed = await planwright(["replay", "--strict", ...agent, record], { PATH: "/nowhere" });
  assert.equal(replayed.code, 0, replayed.stdout + replayed.stderr);
  console.log(`${name}: ${listed.tools.length} tools, ${steps.length} calls`);
  return JSON.parse(said.stdout).steps.map((step) => step.output ?? step.error);
}

const command = (program, args = [], more = "") =>
  `command = ${JSON.stringify(program)}\nargs = ${JSON.stringify(args)}\n${more}`;
const text = (outputs) => JSON.stringify(outputs);

let said = text(
  await check("files", command(npm("mcp-server-filesystem"), [join(home, "notes")]), [
    ["list_directory", { path: join(home, "notes") }],
    ["read_text_file", { path: join(home, "notes/규정.md") }],
    ["write_file", { path: join(home, "notes/new.md"), content: "새 글" }],
  ]),
);
assert.match(said, /규정\.md/);
assert.match(said, /환불은 30일 안에/);
assert.equal(readFileSync(join(home, "notes/new.md"), "utf8"), "새 글");

said = text(
  await check("memory", command(npm("mcp-server-memory"), [], 'env = ["MEMORY_FILE_PATH"]'), [
    ["create_entities", { entities: [{ name: "보일러", entityType: "thing", observations: ["serviced on 3 May"] }] }],
    ["search_nodes", { query: "보일러" }],
  ]),
);
assert.match(said, /serviced on 3 May/);
assert.match(readFileSync(env.MEMORY_FILE_PATH, "utf8"), /보일러/, "a listed variable is passed");

const everything = [
  ["echo", { message: "안녕" }],
  ["get-sum", { a: 2, b: 40 }],
  ["get-structured-content", { location: "New York" }],
  ["get-resource-links", { count: 2 }],
  ["get-tiny-image", {}],
  ["trigger-long-running-operation", { duration: 1, steps: 4 }],
  ["get-env", {}],
];
process.env.SECRET_OF_OURS = env.SECRET_OF_OURS = "never-passed";
const expectEverything = (said, passes) => {
  for (const part of [/안녕/, /42/, /temperature/, /demo:\/\/resource/, /an image \(image\/png\)/, /completed/i]) {
    assert.match(said, part);
  }
  if (!passes) assert.doesNotMatch(said, /never-passed/);
};
expectEverything(text(await check("everything", command(npm("mcp-server-everything")), everything)), false);

// The same behind an address.
const port = "18653";
const server = spawn(npm("mcp-server-everything"), ["streamableHttp"], { env: { ...process.env, PORT: port }, stdio: "ignore" });
process.on("exit", () => server.kill());
for (let left = 100; left > 0; left--) {
  const asked = await fetch(`http://127.0.0.1:${port}/mcp`).catch(() => null);
  if (asked) break;
  assert.ok(left > 1, "the server does not listen");
  await new Promise((waited) => setTimeout(waited, 100));
}
expectEverything(text(await check("remote", `url = "http://127.0.0.1:${port}/mcp"`, everything)), true);
server.kill();

const bin = python("mcp_servers.txt");
said = text(
  await check("time", command(join(bin, "mcp-server-time")), [
    ["get_current_time", { timezone: "Asia/Seoul" }],
    ["convert_time", { source_timezone: "Asia/Seoul", time: "09:30", target_timezone: "UTC" }],
  ]),
);
assert.match(said, /00:30/);

said = text(
  await check("sqlite", command(join(python("mcp_sqlite.txt"), "mcp-server-sqlite"), ["--db-path", join(home, "db.sqlite")]), [
    ["create_table", { query: "CREATE TABLE t (name TEXT)" }],
    ["write_query", { query: "INSERT INTO t VALUES ('규정')" }],
    ["read_query", { query: "SELECT name FROM t" }],
  ]),
);
assert.match(said, /규정/);

// Every program ended with the runs that used it.
const left = spawnSync("ps", ["-eo", "args"]).stdout.toString().split("\n").filter((line) => line.includes(home));
assert.deepEqual(left, []);
model.close();
