import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import type { ServerOptions } from '../../src/index.js';
import { defineAgent } from '../../src/index.js';
import { toolNamed } from '../support/agent-fixtures.js';
import { anthropicWire } from '../support/anthropic-wire.js';
import { API_KEY, type ModelWire } from '../support/model-wire.js';
import { openaiWire } from '../support/openai-wire.js';
import { responsesWire } from '../support/responses-wire.js';
import { ScriptedServer, cutEvents, events, status } from '../support/scripted-server.js';
import { doings, sendText, withServer, type Outcome } from '../support/server.js';
import { VENDORS } from '../support/vendors.js';

/** The choice of models and the form of their output, on the whole server. */

let vendor: ScriptedServer;
beforeEach(async () => {
  vendor = await ScriptedServer.open();
});
afterEach(() => vendor[Symbol.asyncDispose]());

const TOOLS = [toolNamed('exec_one'), toolNamed('exec_two')];

describe('the models of single agents, and fallbacks', () => {
  const claude = anthropicWire;
  const says = (wire: ModelWire, text: string) => events(wire.answer({ texts: [text], stop: 'end' }));
  const own = { provider: 'anthropic', name: 'claude-own', apiKey: 'sk-of-the-other' } as const;
  const main = () =>
    ({ provider: 'openai', name: 'gpt-main', apiKey: API_KEY, baseUrl: `${vendor.url}/v1` }) as const;

  it('call the model of the agent with its own key and effort, and bill it by its name', async () => {
    await using other = await ScriptedServer.open();
    const transfer = JSON.stringify({ agent_name: 'operator', request: 'do it', final: true });
    vendor.willReply(
      events(
        openaiWire.answer({
          calls: [{ id: 'd', name: 'transfer_to_agent', json: [transfer] }],
          stop: 'function-calls',
        }),
      ),
    );
    other.willReply(says(claude, 'Done.'));
    const operator = { ...own, baseUrl: other.url, effort: 'low', temperature: 0.5 } as const;
    const model = { ...main(), effort: 'high' } as const;
    const settings = { server: { port: 0 }, model, agent: { models: { operator } } };
    await withServer({ tools: TOOLS, settings }, async (server) => {
      const { end } = await sendText(server, 'do it');
      expect(end).toMatchObject({ state: 'completed', text: 'Done.' });
      expect(end.usage.rows).toMatchObject([
        { agent: 'lango-orchestrator', model: 'openai/gpt-main', input: 25 },
        { agent: 'operator', model: 'anthropic/claude-own', output: 7 },
      ]);
    });
    const [asked] = other.requests;
    expect(claude.key(asked!.headers)).toBe('sk-of-the-other');
    expect(asked!.body).toMatchObject({
      model: 'claude-own',
      output_config: { effort: 'low' },
      temperature: 0.5,
    });
    expect(vendor.requests[0]!.body).toMatchObject({ model: 'gpt-main', reasoning_effort: 'high' });
    expect(openaiWire.key(vendor.requests[0]!.headers)).toBe(API_KEY);
  });

  it('report to the person that a vendor is waited for, without the vendor’s message', async () => {
    const busy = status(429, openaiWire.errorBody('org-7 is over its limit'), { 'retry-after': '1' });
    vendor.willReply(busy, says(openaiWire, 'Here.'));
    const settings = { server: { port: 0 }, model: main(), agent: { multiAgent: false } };
    await withServer({ tools: TOOLS, settings }, async (server) => {
      const outcome = await sendText(server, 'one');
      expect(outcome.end).toMatchObject({ state: 'completed', text: 'Here.' });
      const waits = 'The model takes no more requests for now; trying again in 1 s.';
      expect(doings(outcome)).toEqual([`lango-agent: text ${JSON.stringify(`${waits}\n`)}`]);
      const [said] = outcome.events.filter((event) => event.type === 'activity' && 'text' in event.activity);
      expect(said).toMatchObject({ activity: { waitMs: 1_000 } });
    });
  });

  it('call the next model when one fails, replace its text, and pause the failed one', async () => {
    await using other = await ScriptedServer.open();
    vendor.willReply(cutEvents(openaiWire.beginning('Half an ans')));
    other.willReply(
      says(claude, 'First.'),
      says(claude, 'Second.'),
      status(400, claude.errorBody('no such field')),
    );
    const model = { ...main(), maxRetries: 0, fallbacks: [{ ...own, baseUrl: other.url }] };
    const settings = { server: { port: 0 }, model, agent: { multiAgent: false } };
    await withServer({ tools: TOOLS, settings }, async (server) => {
      const first = await sendText(server, 'one');
      expect(first.end).toMatchObject({ state: 'completed', text: 'First.' });
      expect(first.end.usage.rows).toMatchObject([{ model: 'anthropic/claude-own', input: 25 }]);
      expect((await sendText(server, 'two')).end).toMatchObject({ text: 'Second.' });
      expect((await sendText(server, 'three')).end).toMatchObject({ state: 'failed' });
    });
    expect([vendor.requests.length, other.requests.length]).toEqual([1, 3]);
  });

  it.each([
    { what: 'a bad request', code: 400, provider: 'anthropic', text: 'gpt-main rejects', asked: 0 },
    { what: 'a wrong key', code: 401, provider: 'openai', text: 'refuses the API key', asked: 0 },
    { what: 'a wrong key', code: 401, provider: 'anthropic', text: 'I can.', asked: 1 },
    { what: 'an unknown model', code: 404, provider: 'openai', text: 'I can.', asked: 1 },
  ] as const)(
    'end a request after $what (HTTP $code) with a fallback of $provider in the text "$text"',
    async ({ code, provider, text, asked }) => {
      await using other = await ScriptedServer.open();
      vendor.willReply(status(code, openaiWire.errorBody('gpt-main rejects')));
      const wire = provider === 'openai' ? openaiWire : claude;
      other.willReply(says(wire, 'I can.'));
      const baseUrl = provider === 'openai' ? `${other.url}/v1` : other.url;
      const model = { ...main(), fallbacks: [{ ...own, provider, baseUrl }] };
      const settings = { server: { port: 0 }, model, agent: { multiAgent: false } };
      await withServer({ tools: TOOLS, settings }, async (server) => {
        expect((await sendText(server, 'one')).end.text).toContain(text);
      });
      expect(other.requests).toHaveLength(asked);
    },
  );
});

describe.each([
  ...VENDORS,
  { provider: 'openai', wire: responsesWire, base: '/v1', api: 'responses' },
] as const)('structured output of a model of $provider', ({ wire, base, ...vendorOf }) => {
  const model = () => ({ ...vendorOf, name: 'm', apiKey: API_KEY, baseUrl: `${vendor.url}${base}` });
  const says = (...texts: readonly string[]) =>
    texts.map((text) => events(wire.answer({ texts: [text.slice(0, 9), text.slice(9)], stop: 'end' })));
  const ask = async (settings: ServerOptions['settings'], own: Partial<ServerOptions>) => {
    const options = { ...own, settings: { ...settings, server: { port: 0 }, model: model() } };
    let outcome: Outcome | undefined;
    await withServer(options, async (server) => void (outcome = await sendText(server, 'weigh it')));
    return outcome!;
  };

  it('is returned as text and data, after one repair', async () => {
    const output = z.object({ grams: z.number().max(10), parts: z.array(z.object({ name: z.string() })) });
    const text = { name: 'scale', description: 'Weighs.', instruction: 'Weigh.' };
    const data = '{"grams":7,"parts":[{"name":"a"}]}';
    vendor.willReply(...says('Seven grams, I think.', data));
    const { end, events: seen } = await ask(
      { a2a: { publish: ['scale'] } },
      { agents: [defineAgent({ ...text, output })] },
    );
    expect(end).toMatchObject({ state: 'completed', text: data });
    const artifacts = seen.flatMap((event) => (event.type === 'artifact' ? [event.artifact] : []));
    expect(artifacts).toMatchObject([
      { id: 'output', parts: [{ kind: 'data', data: JSON.parse(data) as unknown }] },
    ]);
    const item = {
      type: 'object',
      properties: { name: { type: 'string' } },
      required: ['name'],
      additionalProperties: false,
    };
    const [first, repair] = vendor.requests.map(({ body }) => JSON.stringify(body));
    expect(first).toContain(
      `"schema":${JSON.stringify({
        type: 'object',
        properties: { grams: { type: 'number' }, parts: { type: 'array', items: item } },
        required: ['grams', 'parts'],
        additionalProperties: false,
      })}`,
    );
    expect(first).toContain('json_schema');
    expect(repair).toContain('does not fit the schema of scale: it is not JSON');
  });

  it('fails the task with the reason when the repair does not fit either', async () => {
    const output = {
      type: 'object',
      properties: { grams: { type: 'number', maximum: 10 } },
      required: ['grams'],
    };
    const spec = {
      name: 'scale',
      description: 'Weighs.',
      instruction: 'Weigh.',
      alwaysInclude: true,
      output,
    };
    vendor.willReply(...says('{"grams":11}', '```json\n{"grams":"x"}\n```'));
    const { end } = await ask({ agent: { roster: [spec] }, a2a: { publish: ['scale'] } }, {});
    expect(end).toMatchObject({ state: 'failed' });
    expect(end.text).toContain('does not fit the schema of scale: grams: ');
    expect(vendor.requests).toHaveLength(2);
  });
});
