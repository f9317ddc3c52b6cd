import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { JsonObject } from '../../src/core/json.js';
import type { ServerOptions } from '../../src/index.js';
import { connect } from '../../src/index.js';
import { toolNamed } from '../support/agent-fixtures.js';
import { anthropicStream, anthropicWire, textBlock, toolUseBlock } from '../support/anthropic-wire.js';
import { AUDIENCE, startIssuer } from '../support/issuer.js';
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

  it('completes a delegation and parallel calls, despite an overload and a lost connection', async () => {
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
      const [said = '', results] = last!.messages.slice(-2);
      const [, a, b] = /^assistant: call (\w{9}) \| call (\w{9})$/.exec(said) ?? [];
      expect([results, a === b]).toEqual([`user: result ${a} | result ${b}`, false]);
      for (const { headers } of vendor.requests) expect(JSON.stringify(headers)).toContain(API_KEY);
    });
  });

  it('tells the model of invalid arguments and of an unknown tool, and continues', async () => {
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
  ])('reports arguments %s to the model, and continues', async (_, json) => {
    vendor.willReply(calls(['a', 'exec_one', json]), says('I see.'));
    await withServer(optionsFor(kind, false), async (server) => {
      const { end } = await sendText(server, 'go');
      expect(end).toMatchObject({ state: 'completed', text: 'I see.' });
      expect(JSON.stringify(vendor.requests[1]!.body)).toContain('are not a JSON object that can be used');
    });
  });

  it('reports that the model cannot be reached when nothing listens there', async () => {
    const options = optionsFor(kind, false);
    await vendor[Symbol.asyncDispose]();
    const settings = { ...options.settings, model: { ...options.settings!.model, maxRetries: 0 } };
    await withServer({ ...options, settings }, async (server) => {
      const { end } = await sendText(server, 'go');
      expect(end).toMatchObject({ state: 'failed', text: expect.stringContaining('nothing listens there') });
      expect(JSON.stringify(server.log.lines)).toContain('nothing listens there');
    });
    vendor = await ScriptedServer.open();
  });

  it('begins its output anew when the connection breaks in the middle of it', async () => {
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
      {
        state: 'rejected',
        text: expect.stringMatching(/^Not this\.\n\n\[Refused by the model's vendor: \w+\]$/),
      },
    ],
    [
      'an answer at its greatest length',
      events(wire.answer({ texts: ['Once upon'], stop: 'max-tokens' })),
      { state: 'completed', text: expect.stringMatching(/^Once upon\n\n\[The answer was cut off/) },
    ],
    [
      'a rate for an hour',
      status(429, wire.errorBody('slow down'), { 'retry-after': '3600' }),
      {
        state: 'failed',
        text: expect.stringMatching(
          /limits the rate of requests \(HTTP 429\)\. Try again later\. It takes requests again at .*, in 1 h\. It says: slow down/,
        ),
      },
    ],
    [
      'an overload in the middle of an answer',
      events(wire.beginning('so') + wire.streamError('overloaded', 'busy')),
      {
        state: 'failed',
        text: expect.stringMatching(
          /cannot respond right now \(in its response\)\. Try again later\. It says: busy/,
        ),
      },
    ],
    [
      'a connection that breaks in the middle of an answer',
      cutEvents(wire.beginning('so')),
      { state: 'failed', text: expect.stringContaining('the connection failed') },
    ],
    [
      'a key that is refused',
      status(401, wire.errorBody(`Incorrect API key provided: ${API_KEY}.`)),
      {
        state: 'failed',
        text: expect.stringMatching(
          /refuses the API key \(HTTP 401\).*Incorrect API key provided: \[API key\]/,
        ),
      },
    ],
    [
      'an account without credit, with the status of the vendor',
      status(429, { error: { type: 'insufficient_quota', message: 'You exceeded your quota.' } }),
      {
        state: 'failed',
        text: expect.stringMatching(/no credit left for this API key \(HTTP 429\).*exceeded your quota/),
      },
    ],
    [
      'an account without credit, which the vendor calls an invalid request',
      status(400, {
        error: { type: 'invalid_request_error', message: 'Your credit balance is too low to use this.' },
      }),
      {
        state: 'failed',
        text: expect.stringMatching(/no credit left for this API key \(HTTP 400\).*too low/),
      },
    ],
    [
      'a conversation that is too long',
      status(400, { error: { type: 'invalid_request_error', message: 'prompt is too long: 9 > 8' } }),
      { state: 'failed', text: expect.stringMatching(/request too large \(HTTP 400\).*9 > 8/) },
    ],
  ];
  it.each(endings)(
    'ends in a clear state after %s, and discloses the key to nobody',
    async (_, reply, expected) => {
      vendor.willReply(reply);
      const options = optionsFor(kind, false);
      const settings = { ...options.settings, model: { ...options.settings!.model, maxRetries: 0 } };
      await withServer({ ...options, settings }, async (server) => {
        const { end, events: seen } = await sendText(server, 'go');
        expect(end).toMatchObject(expected);
        expect(vendor.requests).toHaveLength(1);
        expect(JSON.stringify([seen, server.log.lines])).not.toContain(API_KEY);
      });
    },
  );
});

describe("the reason of a vendor's refusal", () => {
  const [{ wire }] = VENDORS;
  const refused = status(404, wire.errorBody('model: claude-test'));

  it('reaches the person who watches when it comes from a sub-agent', async () => {
    const transfer = JSON.stringify({ agent_name: 'operator', request: 'do both' });
    vendor.willReply(
      events(
        wire.answer({
          calls: [{ id: 'd', name: 'transfer_to_agent', json: [transfer] }],
          stop: 'function-calls',
        }),
      ),
      refused,
      events(wire.answer({ texts: ['It did not work.'], stop: 'end' })),
    );
    await withServer(optionsFor(VENDORS[0]), async (server) => {
      const { events: seen } = await sendText(server, 'do both');
      expect(seen).toContainEqual(
        expect.objectContaining({
          activity: {
            type: 'delegation-end',
            agent: 'operator',
            state: 'failed',
            reason: expect.stringMatching(
              /does not know the model "claude-test".*It says: model: claude-test/,
            ),
          },
        }),
      );
    });
  });

  it('is shown to operators; others see its kind only', async () => {
    const issuer = await startIssuer();
    vendor.willAlwaysReply(refused);
    const options = optionsFor(VENDORS[0], false);
    const auth = { mode: 'jwt' as const, jwt: { issuer: issuer.url, audience: [AUDIENCE] } };
    await withServer({ ...options, settings: { ...options.settings, auth } }, async (server) => {
      const ask = async (claims: Record<string, string>) => {
        const token = await issuer.token(claims);
        const client = connect({ url: server.address.origin, token });
        return (await sendText({ ...server, client }, 'go')).end.text;
      };
      expect(await ask({ sub: 'ann' })).toMatch(/^The model vendor does not know the model of this server/);
      expect(await ask({ sub: 'ann', scope: 'a lango:operator' })).toContain('It says: model: claude-test');
    });
    await issuer.close();
  });
});

describe('the thinking blocks of Anthropic', () => {
  const thought = (text: string, signature: string) => ({
    start: { type: 'thinking', thinking: '', signature: '' },
    deltas: [
      { type: 'thinking_delta', thinking: text },
      { type: 'signature_delta', signature },
    ],
  });
  const REDACTED = { type: 'redacted_thinking', data: 'b3BhcXVl' };
  const CACHED = { type: 'ephemeral' };

  it('are sent back unchanged beside the results, after a pause and over a restart, on a cached prefix', async () => {
    const home = await mkdtemp(path.join(tmpdir(), 'lango-thoughts-'));
    const { settings, ...rest } = optionsFor(VENDORS[0], false);
    // The stop waits no longer for the model that is silent.
    const server = { port: 0, limits: { drainSeconds: 1 } };
    const options = { ...rest, home, settings: { ...settings, server } };
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
      const callId = expect.stringMatching(/^\w{9}$/) as unknown;
      expect(messagesOf(resumed!).slice(-2)).toEqual([
        {
          role: 'assistant',
          content: [
            ...thoughts,
            { type: 'text', text: 'I look.' },
            { type: 'tool_use', id: callId, name: 'exec_one', input: { path: 'x' } },
          ],
        },
        {
          role: 'user',
          content: [
            expect.objectContaining({ type: 'tool_result', tool_use_id: callId, cache_control: CACHED }),
          ],
        },
      ]);
      // The cached prefix is sent again byte for byte.
      expect(resumed).toEqual(interrupted.body);
      const { system, tools } = resumed as unknown as Record<'system' | 'tools', readonly object[]>;
      expect(system.filter((block) => 'cache_control' in block)).toEqual([system[0]]);
      expect(tools.filter((tool) => 'cache_control' in tool)).toEqual([tools.at(-1)]);
    } finally {
      await rm(home, { recursive: true });
    }
  });
});

describe("the cache of Anthropic's API", () => {
  it('holds more of the prompt with each of ten turns of a conversation', async () => {
    const cache = new Set<string>();
    const cached: number[] = [];
    const inputs: number[] = [];
    vendor.willAlwaysReply((response, request) => {
      const { hit, input } = countCached(request.body, cache);
      cached.push(hit);
      inputs.push(input);
      const usage = { start: { input_tokens: input - hit, cache_read_input_tokens: hit } };
      const blocks = [textBlock('One more thing that is worth knowing. '.repeat(10))];
      return events(anthropicStream({ blocks, stopReason: 'end_turn', usage }))(response, request);
    });
    await withServer(optionsFor(VENDORS[0], false), async (server) => {
      const contextId = 'ten-turns';
      for (let turn = 1; turn <= 10; turn += 1) {
        const { end } = await sendText(server, `What about number ${turn}?`, { contextId });
        expect(end.usage).toMatchObject({ input: inputs.at(-1), cached: cached.at(-1) });
      }
    });
    console.log(`input ${inputs.join(', ')}; cached ${cached.join(', ')}`);
    // Each turn finds everything that the one before it sent.
    expect(cached.slice(1)).toEqual(inputs.slice(0, -1));
  });
});

/**
 * The tokens of a request, and how many of them are in the vendor's cache: those of the longest marked prefix that it
 * has seen.
 */
function countCached(body: JsonObject, cache: Set<string>): { readonly hit: number; readonly input: number } {
  const { tools, system } = body as unknown as Record<'tools' | 'system', readonly object[]>;
  const said = messagesOf(body).flatMap(({ role, content }) => content.map((block) => ({ role, ...block })));
  let prefix = '';
  let hit = 0;
  const marked: string[] = [];
  for (const block of [...tools, ...system, ...said]) {
    const { cache_control: mark, ...rest } = block as { readonly cache_control?: object };
    prefix += JSON.stringify(rest);
    if (mark) marked.push(prefix);
    if (mark && cache.has(prefix)) hit = Math.ceil(prefix.length / 4);
  }
  expect(marked.length).toBeLessThanOrEqual(4);
  for (const each of marked) cache.add(each);
  return { hit, input: Math.ceil(prefix.length / 4) };
}

function messagesOf(body: JsonObject): readonly { role: string; content: readonly object[] }[] {
  return body['messages'] as unknown as readonly { role: string; content: readonly object[] }[];
}
