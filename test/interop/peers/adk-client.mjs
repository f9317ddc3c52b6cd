// An ADK agent whose work is done by the A2A server at the given address: one turn of a user for each further argument.
import { InMemoryRunner, RemoteA2AAgent } from '@google/adk';

const [url, token, ...turns] = process.argv.slice(2);
// ADK has no option for tokens: it calls with the `fetch` of the process.
const plainFetch = globalThis.fetch;
globalThis.fetch = (input, init = {}) => {
  const headers = new Headers(init.headers);
  headers.set('authorization', `Bearer ${token}`);
  return plainFetch(input, { ...init, headers });
};
const card = await (await fetch(`${url}/.well-known/agent.json`)).json();
const agent = new RemoteA2AAgent({ name: 'remote', agentCard: card });
const runner = new InMemoryRunner({ agent, appName: 'interop' });
const session = await runner.sessionService.createSession({ appName: 'interop', userId: 'u' });
for (const text of turns) {
  const newMessage = { role: 'user', parts: [{ text }] };
  for await (const event of runner.runAsync({ userId: 'u', sessionId: session.id, newMessage })) {
    if (event.errorMessage) console.log(JSON.stringify({ error: event.errorMessage }));
  }
}
const stored = await runner.sessionService.getSession({
  appName: 'interop',
  userId: 'u',
  sessionId: session.id,
});
for (const { author, content } of stored.events) {
  console.log(JSON.stringify({ author, texts: (content?.parts ?? []).map((part) => part.text ?? part) }));
}
process.exit(0);
