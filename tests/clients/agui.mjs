// npm's @ag-ui/client against the service: a run, an interrupt, and the run that answers it. The client itself refuses
// events in a wrong order.
import assert from "node:assert/strict";
import { HttpAgent } from "@ag-ui/client";

const address = process.env.ADDRESS;

async function run(agent, parameters) {
  const events = [];
  await agent.runAgent(parameters, { onEvent: ({ event }) => void events.push(event) });
  return events;
}
const of = (events, type) => events.filter((event) => event.type === type);
const plan = async (thread) => (await fetch(`${address}/plan/${encodeURIComponent(thread)}`)).json();

const sum = new HttpAgent({ url: `${address}/agui`, threadId: "합" });
sum.addMessage({ id: "m-1", role: "user", content: "What is 12*7?" });
let events = await run(sum);
assert.equal(events[0].type, "RUN_STARTED");
assert.deepEqual(events.at(-1).outcome, { type: "success" });
assert.deepEqual(of(events, "STEP_STARTED").map((event) => event.stepName), ["PLAN", "EXECUTE", "VALIDATE", "WRITE"]);
assert.deepEqual(of(events, "TOOL_CALL_START").map((event) => event.toolCallName), ["calc"]);
assert.match(sum.messages.at(-1).content, /84/);
assert.deepEqual(sum.messages.map((message) => message.role), ["user", "assistant", "tool", "assistant"]);
assert.deepEqual(sum.state, await plan("합"));

const asking = new HttpAgent({ url: `${address}/agui?agent=supervised`, threadId: "offers" });
asking.addMessage({ id: "m-1", role: "user", content: "Compare both offers, and ask me before you conclude." });
await run(asking);
const [interrupt] = asking.pendingInterrupts;
assert.ok(asking.pendingInterrupts.length === 1 && interrupt.message && interrupt.reason === "question");
const resume = [{ interruptId: interrupt.id, status: "resolved", payload: { response: "go on" } }];
events = await run(asking, { resume });
assert.deepEqual(events.at(-1).outcome, { type: "success" });
assert.deepEqual([asking.pendingInterrupts, asking.state], [[], await plan("offers")]);
assert.equal(asking.messages.at(-1).role, "assistant");

const refused = new HttpAgent({ url: `${address}/agui?agent=none`, threadId: "t" });
refused.addMessage({ id: "m-1", role: "user", content: "hi" });
await assert.rejects(run(refused), /404.*no-such-agent/);
console.log("@ag-ui/client: a run, an interrupt, its answer, and a refusal");
