// The protocol's own conformance suite against /mcp. The scenarios are those that any server of tools can pass; the
// others call tools of the suite's own server, or want resources, prompts, completions and logging.
import { spawnSync } from "node:child_process";

// The suite wants a newer Node than some machines have.
const node = new URL("node_modules/.bin/node", import.meta.url).pathname;
const suite = new URL("node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url).pathname;
const scenarios = ["server-initialize", "ping", "tools-list", "server-sse-multiple-streams", "dns-rebinding-protection"];
for (const scenario of scenarios) {
  const run = spawnSync(node, [suite, "server", "--url", `${process.env.ADDRESS}/mcp`, "--scenario", scenario], { encoding: "utf8" });
  if (run.status !== 0) {
    console.error(run.stdout, run.stderr);
    throw new Error(`${scenario} does not pass`);
  }
}
console.log(`mcp conformance: ${scenarios.join(", ")}`);
