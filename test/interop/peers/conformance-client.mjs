// The client that MCP's conformance tool starts with PORT URL. Lets the test run the scenario, at PORT, and exits with
// its result.
const [port, url] = process.argv.slice(2);
const { MCP_CONFORMANCE_SCENARIO: scenario, MCP_CONFORMANCE_CONTEXT: context = '{}' } = process.env;
const answer = await fetch(`http://127.0.0.1:${port}/`, {
  method: 'POST',
  body: JSON.stringify({ url, scenario, context: JSON.parse(context) }),
});
console.log(await answer.text());
process.exitCode = answer.ok ? 0 : 1;
