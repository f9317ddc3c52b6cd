import { createServer, request, type IncomingHttpHeaders, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import type { JsonObject } from '../../src/core/json.js';
import { defineAgent, defineTool, type Agent, type DefinedAgent } from '../../src/index.js';
import type { Run, RunEnd } from '../../src/core/run.js';
import { scriptedAgent } from '../support/scripted-agent.js';
import type { TestServer } from '../support/server.js';

const PIXEL = 'iVBORw0KGgo=';

const say = (run: Run, what: string): void =>
  run.emit({ type: 'text-delta', artifactId: 'answer', text: what, replace: false });
const give = (run: Run, bytes: string, mediaType: string): void =>
  run.emit({
    type: 'artifact',
    artifact: { id: mediaType, parts: [{ kind: 'file', bytes, mediaType }] },
    append: false,
  });

/**
 * The work of the agents that stand in for the tools of the conformance tool. Each has the name of its tool, with
 * hyphens.
 */
const WORK: Readonly<Record<string, (run: Run) => void>> = {
  'test-simple-text': (run) => say(run, 'This is a simple text response for testing.'),
  'test-image-content': (run) => give(run, PIXEL, 'image/png'),
  'test-audio-content': (run) => give(run, 'UklGRg==', 'audio/wav'),
  'test-embedded-resource': (run) => give(run, 'YS4=', 'text/plain'),
  'test-multiple-content-types'(run) {
    say(run, 'Multiple content types test:');
    give(run, PIXEL, 'image/png');
    give(run, 'e30=', 'application/json');
  },
  'test-error-handling'() {
    throw new Error('fails');
  },
  'test-tool-with-progress'(run) {
    run.emit({ type: 'activity', activity: { type: 'tool-call', tool: 'look', arguments: {} } });
    run.emit({ type: 'activity', activity: { type: 'tool-result', tool: 'look', isError: false, text: '' } });
  },
  'test-logging-tool': (run) => say(run, 'done'),
  'test-missing-capability': (run) => say(run, 'done'),
};
/** The agents that ask a person: their model calls a tool that needs an approval. */
const ASKING = [
  'test-elicitation',
  'test-streaming-elicitation',
  ...['elicitation', 'request-state', 'multi-round', 'tampered-state', 'capabilities'].map(
    (name) => `test-input-required-result-${name}`,
  ),
];

const wipe = defineTool({
  name: 'wipe',
  description: 'Wipes.',
  schema: z.object({}),
  effect: 'unsafe',
  danger: 'dangerous',
  execute: async () => Promise.resolve({ content: 'wiped' }),
});

export const STAND_INS: readonly (Agent | DefinedAgent)[] = [
  ...Object.entries(WORK).map(([name, work]) =>
    scriptedAgent(name, async (run): Promise<RunEnd> => {
      work(run);
      return Promise.resolve({ state: 'completed' });
    }),
  ),
  ...ASKING.map((name) =>
    defineAgent({ name, description: `${name} asks.`, instruction: 'Wipe.', tools: [wipe] }),
  ),
];

const isTool = (name: unknown): name is string => typeof name === 'string' && name.startsWith('test_');
const agentOf = (tool: string): string => tool.replaceAll('_', '-');

/** Rewrites a body for `/mcp`: a tool's name becomes that of its agent, which needs a message too. */
function toOurs(body: string): string {
  const { params, ...rest } = JSON.parse(body) as { readonly params?: JsonObject };
  const name = params?.['name'];
  if (!isTool(name)) return body;
  return JSON.stringify({
    ...rest,
    params: { ...params, name: agentOf(name), arguments: { message: 'wipe {}' } },
  });
}

/** A proxy that adds the token to requests for `/mcp`, for which the conformance tool has no option. */
export async function openStandIn({ address }: TestServer): Promise<{ server: Server; url: string }> {
  const server = createServer((incoming, response) => {
    void text(incoming).then((body) => {
      const headers: IncomingHttpHeaders = { ...incoming.headers, authorization: `Bearer ${address.token}` };
      const name = headers['mcp-name'];
      if (isTool(name)) headers['mcp-name'] = agentOf(name);
      const sent = body === '' ? body : toOurs(body);
      if (body !== '') headers['content-length'] = String(Buffer.byteLength(sent));
      const outgoing = request(`${address.origin}/mcp`, { method: incoming.method, headers });
      outgoing.on('response', (answer) => {
        response.writeHead(answer.statusCode!, answer.headers);
        pipeline(answer, response, () => undefined);
      });
      outgoing.on('error', () => response.destroy());
      response.on('close', () => outgoing.destroy());
      outgoing.end(sent);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp` };
}
