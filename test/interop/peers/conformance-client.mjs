// The client that MCP's conformance tool starts: PORT URL. It lets the test work on the scenario, at PORT, and ends as that says.
const [port, url] = process.argv.slice(2);
const { MCP_CONFORMANCE_SCENARIO: scenario, MCP_CONFORMANCE_CONTEXT: context = '{}' } = process.env;
const answer = await fetch(`http://127.0.0.1:${port}/`, {
  method: 'POST',
  body: JSON.stringify({ url, scenario, context: JSON.parse(context) }),
});
console.log(await answer.text());
process.exitCode = answer.ok ? 0 : 1;
