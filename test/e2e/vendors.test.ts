import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { JsonObject } from '../../src/core/json.js';
import type { ServerOptions } from '../../src/index.js';
import { toolNamed } from '../support/agent-fixtures.js';
import { anthropicStream, anthropicWire, textBlock, toolUseBlock } from '../support/anthropic-wire.js';
import { API_KEY } from '../support/model-wire.js';
import type { Reply } from '../support/scripted-server.js';
import { ScriptedServer, cutEvents, events, reset, silence, status } from '../support/scripted-server.js';
import { doings, sendText, startServer, untilEnded, withServer } from '../support/server.js';
import { VENDORS } from '../support/vendors.js';

/** The whole server, asked over A2A, with a model behind each vendor's wire format. */

let vendor: ScriptedServer;
beforeEach(async () => {
  vendor = await ScriptedServer.open();
});
afterEach(() => vendor[Symbol.asyncDispose]());

const TOOLS = [toolNamed('exec_one'), toolNamed('exec_two')];
const SOON = { 'retry-after': '0' };

function optionsFor({ provider, base }: (typeof VENDORS)[number], multiAgent = true): ServerOptions {
  const model = { provider, name: 'claude-test', apiKey: API_KEY, baseUrl: `${vendor.url}${base}` };
  return { tools: TOOLS, settings: { server: { port: 0 }, agent: { multiAgent }, model } };
}

describe.each(VENDORS)('a task with a model of $provider', (kind) => {
  const { wire } = kind;
  const says = (text: string) => events(wire.answer({ texts: [text], stop: 'end' }));
  const calls = (...made: readonly (readonly [id: string, name: string, json: string])[]) =>
    events(
      wire.answer({
        calls: made.map(([id, name, json]) => ({ id, name, json: [json.slice(0, 3), json.slice(3)] })),
        stop: 'function-calls',
      }),
    );

  it('goes through a delegation and parallel calls, over an overload and a lost connection', async () => {
    const transfer = JSON.stringify({ agent_name: 'operator', request: 'do both', final: true });
    vendor.willReply(
      status(529, wire.errorBody('overloaded'), SOON),
      calls(['d', 'transfer_to_agent', transfer]),
      reset,
      calls(['a', 'exec_one', '{"path":"x"}'], ['b', 'exec_two', '{"path":"y"}']),
      says('Both are done.'),
    );
    await withServer(optionsFor(kind), async (server) => {
      const outcome = await sendText(server, 'do both');
      expect(outcome.end).toMatchObject({ state: 'completed', text: 'Both are done.' });
      expect(outcome.end.usage).toMatchObject({ input: 75, output: 21 });
      expect(
        doings(outcome)
          .filter((line) => line.includes('tool-call'))
          .sort(),
      ).toEqual(['operator: tool-call exec_one', 'operator: tool-call exec_two']);
      expect(vendor.requests).toHaveLength(5);
      const [, first, , , last] = vendor.requests.map(({ body }) => wire.sent(body));
      expect(first!.functions.map(({ name }) => name)).toEqual(['transfer_to_agent']);
      expect(last!.messages.slice(-2)).toEqual(['assistant: call a | call b', 'user: result a | result b']);
      for (const { headers } of vendor.requests) expect(JSON.stringify(headers)).toContain(API_KEY);
    });
  });

  it('tells the model of broken arguments and of a tool that is not there, and goes on', async () => {
    vendor.willReply(calls(['a', 'exec_one', '{"path": "x'], ['b', 'exec_ten', '{}']), says('I see.'));
    await withServer(optionsFor(kind, false), async (server) => {
      const { end } = await sendText(server, 'go');
      expect(end).toMatchObject({ state: 'completed', text: 'I see.' });
      const told = JSON.stringify(vendor.requests[1]!.body);
      expect(told).toContain('the arguments of exec_one are not a JSON object');
      expect(told).toMatch(/there is no function \\+"exec_ten\\+"\. Valid names: [^"]*exec_two/);
    });
  });

  it.each([
    ['nested deeper than anybody can walk', `{"path":${'['.repeat(20_000)}${']'.repeat(20_000)}}`],
    ['with a number that JSON cannot write', '{"path":"x","limit":1e400}'],
  ])('tells the model of arguments %s, and goes on', async (_, json) => {
    vendor.willReply(calls(['a', 'exec_one', json]), says('I see.'));
    await withServer(optionsFor(kind, false), async (server) => {
      const { end } = await sendText(server, 'go');
      expect(end).toMatchObject({ state: 'completed', text: 'I see.' });
      expect(JSON.stringify(vendor.requests[1]!.body)).toContain('are not a JSON object that can be used');
    });
  });

  it('says that the model cannot be reached when nothing listens there', async () => {
    const options = optionsFor(kind, false);
    await vendor[Symbol.asyncDispose]();
    const settings = { ...options.settings, model: { ...options.settings!.model, maxRetries: 0 } };
    await withServer({ ...options, settings }, async (server) => {
      const { end } = await sendText(server, 'go');
      expect(end).toMatchObject({ state: 'failed', text: expect.stringContaining('could not be reached') });
      expect(JSON.stringify(server.log.lines)).toContain('nothing listens there');
    });
    vendor = await ScriptedServer.open();
  });

  it('begins its answer again when the connection breaks in the middle of it', async () => {
    vendor.willReply(
      cutEvents(wire.beginning('half an ans')),
      events(wire.answer({ texts: ['The whole', ' answer.'], stop: 'end' })),
    );
    await withServer(optionsFor(kind, false), async (server) => {
      const { end, taskId } = await sendText(server, 'go');
      expect(end).toMatchObject({ state: 'completed', text: 'The whole answer.' });
      const { artifacts } = await server.client.get({ taskId });
      expect(JSON.stringify(artifacts)).not.toContain('half an ans');
      expect(vendor.requests).toHaveLength(2);
    });
  });

  const endings: readonly (readonly [string, Reply, object])[] = [
    [
      'a refusal',
      events(wire.answer({ texts: ['Not this.'], stop: 'refusal' })),
      { state: 'rejected', text: 'Not this.' },
    ],
    [
      'an answer at its greatest length',
      events(wire.answer({ texts: ['Once upon'], stop: 'max-tokens' })),
      { state: 'completed', text: expect.stringMatching(/^Once upon\n\n\[The answer was cut off/) },
    ],
    [
      'a rate for an hour',
      status(429, wire.errorBody('slow down'), { 'retry-after': '3600' }),
      { state: 'failed', text: expect.stringContaining('takes no more requests for now') },
    ],
    [
      'an overload in the middle of an answer',
      events(wire.beginning('so') + wire.streamError('overloaded', 'busy')),
      { state: 'failed', text: expect.stringContaining('overloaded') },
    ],
    [
      'a connection that breaks in the middle of an answer',
      cutEvents(wire.beginning('so')),
      { state: 'failed', text: expect.stringContaining('could not be reached') },
    ],
    [
      'a key that is refused',
      status(401, wire.errorBody(`Incorrect API key provided: ${API_KEY}.`)),
      { state: 'failed', text: 'The model provider refused the request. The server log says why.' },
    ],
  ];
  it.each(endings)('ends in a clear state after %s, and tells nobody the key', async (_, reply, expected) => {
    vendor.willReply(reply);
    const options = optionsFor(kind, false);
    const settings = { ...options.settings, model: { ...options.settings!.model, maxRetries: 0 } };
    await withServer({ ...options, settings }, async (server) => {
      const { end, events: seen } = await sendText(server, 'go');
      expect(end).toMatchObject(expected);
      expect(vendor.requests).toHaveLength(1);
      expect(JSON.stringify([seen, server.log.lines])).not.toContain(API_KEY);
    });
  });
});

describe('thoughts of Anthropic', () => {
  const thought = (text: string, signature: string) => ({
    start: { type: 'thinking', thinking: '', signature: '' },
    deltas: [
      { type: 'thinking_delta', thinking: text },
      { type: 'signature_delta', signature },
    ],
  });
  const REDACTED = { type: 'redacted_thinking', data: 'b3BhcXVl' };
  const CACHED = { type: 'ephemeral' };

  it('go back as they came beside the results, after a pause and over a restart, on a prefix that is cached', async () => {
    const home = await mkdtemp(path.join(tmpdir(), 'lango-thoughts-'));
    const options = { ...optionsFor(VENDORS[0], false), home };
    const search = { type: 'server_tool_use', id: 'srv_1', name: 'web_search', input: { query: 'x' } };
    vendor.willReply(
      events(
        anthropicStream({
          blocks: [thought('First…', 'c2ln'), { start: REDACTED }, { start: search }],
          stopReason: 'pause_turn',
        }),
      ),
      events(
        anthropicStream({
          blocks: [textBlock('I look.'), toolUseBlock('a', 'exec_one', '{"path":"x"}')],
          stopReason: 'tool_use',
        }),
      ),
      silence,
      events(anthropicWire.answer({ texts: ['Done.'], stop: 'end' })),
    );
    try {
      const before = await startServer(options);
      const message = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'go' }] };
      const body = JSON.stringify({ message, configuration: { returnImmediately: true } });
      const sent = await before.fetch('/message:send', { method: 'POST', body });
      const { task } = (await sent.json()) as { task: { id: string } };
      const interrupted = await vendor.request(2);
      await before.stop();
      await withServer(options, async (server) => {
        expect((await untilEnded(server, task.id)).state).toBe('completed');
      });
      const [, continued, , resumed] = vendor.requests.map((request) => request.body);
      const thoughts = [{ type: 'thinking', thinking: 'First…', signature: 'c2ln' }, REDACTED, search];
      expect(messagesOf(continued!).at(-1)).toEqual({ role: 'assistant', content: thoughts });
      expect(messagesOf(resumed!).slice(-2)).toEqual([
        {
          role: 'assistant',
          content: [
            ...thoughts,
            { type: 'text', text: 'I look.' },
            { type: 'tool_use', id: 'a', name: 'exec_one', input: { path: 'x' } },
          ],
        },
        {
          role: 'user',
          content: [
            expect.objectContaining({ type: 'tool_result', tool_use_id: 'a', cache_control: CACHED }),
          ],
        },
      ]);
      // What is cached at the vendor is asked for again to the byte.
      expect(resumed).toEqual(interrupted.body);
      const { system, tools } = resumed as unknown as Record<'system' | 'tools', readonly object[]>;
      expect(system.filter((block) => 'cache_control' in block)).toEqual([system[0]]);
      expect(tools.filter((tool) => 'cache_control' in tool)).toEqual([tools.at(-1)]);
    } finally {
      await rm(home, { recursive: true });
    }
  });
});

function messagesOf(body: JsonObject): readonly { role: string; content: readonly object[] }[] {
  return body['messages'] as unknown as readonly { role: string; content: readonly object[] }[];
}
