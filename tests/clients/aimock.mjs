// Models as another implementation speaks their protocols: aimock answers for chat completions, Messages and
// Responses, streamed or not, with calls made together, forms, thoughts and faults. The program runs against it.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { LLMock } from "@copilotkit/aimock";

const PROVIDERS = ["openai", "anthropic", "responses"];
const PLAN = { goal: "합", steps: [{ tool: "calc", input: "6*7" }, { tool: "final_answer", input: "말한다" }] };
const VERDICT = { ok: true, reason: "결과가 있다", fix_hint: "" };

const mock = new LLMock({ port: 0 });
await mock.start();
const home = await mkdtemp(join(tmpdir(), "aimock-"));
const env = { PATH: process.env.PATH, HOME: home, XDG_CONFIG_HOME: home, XDG_STATE_HOME: home };

async function run(args) {
  const options = { env, cwd: home, maxBuffer: 16 << 20 };
  try {
    return await promisify(execFile)(process.env.PROGRAM, ["run", ...args], options);
  } catch (error) {
    throw new Error(`${args.join(" ")}\n${error.stdout}\n${error.stderr}`);
  }
}

const at = (provider) => ["--provider", provider, "--base-url", `${mock.url}/v1`, "--model", "m"];

// Calls made together, with what was thought before them; then the answer.
function callsAndAnswer(opts = {}) {
  mock.clearFixtures();
  mock.resetMatchCounts();
  const calls = ["6*7", "2+2"].map((input) => ({ name: "calc", arguments: JSON.stringify({ input }) }));
  mock.on({ hasToolResult: false }, { toolCalls: calls, reasoning: "둘 다 센다.", reasoningSignature: "c2ln" });
  if (opts.broken) {
    mock.on({ hasToolResult: true, sequenceIndex: 0 }, { content: "42와 4입니다. ".repeat(9) }, { truncateAfterChunks: 3 });
  }
  mock.on({ hasToolResult: true }, { content: "42와 4입니다." });
}

async function checkReact(provider, form) {
  mock.clearRequests();
  const { stdout } = await run([...at(provider), "--agent", "react", "--tools", "calc", form, "6*7, 2+2?"]);
  assert.ok(stdout.includes("42와 4입니다."), `${provider} ${form}: ${stdout}`);
  return { stdout, requests: mock.getRequests() };
}

for (const provider of PROVIDERS) {
  for (const form of ["--json", "--events"]) {
    callsAndAnswer();
    const { requests } = await checkReact(provider, form);
    assert.equal(requests.length, 2, `${provider} ${form}`);
    // Both results went back, each to its call.
    assert.match(JSON.stringify(requests[1].body), /call_?1.*42.*call_?2/);

    // A role's form: a schema, or a tool that must be called.
    mock.clearFixtures();
    const roles = [["planner", "plan how an agent answers", PLAN], ["validator", "Judge whether", VERDICT]];
    for (const [name, systemMessage, reply] of roles) {
      const call = { toolCalls: [{ name, arguments: JSON.stringify(reply) }] };
      mock.on({ systemMessage }, provider === "anthropic" ? call : { content: JSON.stringify(reply) });
    }
    mock.on({}, { content: "42입니다." });
    const { stdout } = await run([...at(provider), "--agent", "validated", "--tools", "calc", form, "6*7?"]);
    assert.ok(stdout.includes("42입니다."), `${provider} ${form}: ${stdout}`);
  }

  // What passes is asked again: an overloaded server, and a stream that breaks off amid its words.
  callsAndAnswer();
  mock.nextRequestError(provider === "anthropic" ? 529 : 503, { message: "overloaded", type: "overloaded_error" });
  assert.equal((await checkReact(provider, "--json")).requests.length, 3, `${provider} after an overload`);
  callsAndAnswer({ broken: true });
  assert.equal((await checkReact(provider, "--events")).requests.length, 3, `${provider} after a broken stream`);

  // What does not pass is the server's word, with the name that it gave the request.
  mock.nextRequestError(401, { message: "no such key", type: "authentication_error" });
  await assert.rejects(run([...at(provider), "--agent", "react", "x"]), /no such key \(status 401, request /);
  console.log(`${provider}: calls, forms, streams and faults`);
}

// Where one is interrupted, the next is asked, in another protocol and with the same conversation.
for (const [nth, provider] of PROVIDERS.entries()) {
  const other = PROVIDERS[(nth + 1) % PROVIDERS.length];
  callsAndAnswer();
  const table = (name) => `provider = "${name}"\nbase_url = "${mock.url}/v1"\nmodel = "m-${name}"\nmax_tries = 1\n`;
  const config = `fallback = ["other"]\n${table(provider)}[models.other]\n${table(other)}`;
  await writeFile(join(home, "config.toml"), config);
  mock.nextRequestError(503, { message: "down" });
  mock.clearRequests();
  const args = ["--config", join(home, "config.toml"), "--agent", "react", "--tools", "calc", "--json", "6*7, 2+2?"];
  const { stdout } = await run(args);
  assert.ok(stdout.includes("42와 4입니다."), stdout);
  const models = mock.getRequests().map((request) => request.body.model);
  assert.deepEqual(models, [`m-${provider}`, `m-${other}`, `m-${provider}`]);
}
console.log("fallbacks: one protocol's calls go on in another");
await mock.stop();
