import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ServerOptions } from '../../src/index.js';
import { textOf } from '../../src/core/message.js';
import { toolNamed } from '../support/agent-fixtures.js';
import { API_KEY } from '../support/model-wire.js';
import type { Reply } from '../support/scripted-server.js';
import { ScriptedServer, eventsApart } from '../support/scripted-server.js';
import type { TestServer } from '../support/server.js';
import { sendText, withServer } from '../support/server.js';
import { VENDORS } from '../support/vendors.js';

/** The history of a task whose sub-agents' models stream a few letters at a time. */

const REQUEST = 'Do both of it.';
const ONE = 'The first part is done, in many small words.';
const LOOK = 'I look at it before I say more.';
const TWO = 'The second part is done as well, in more of them.';
const ANSWER = 'Both parts are done.';

interface OldTask {
  readonly history: readonly { readonly parts: readonly { readonly text: string }[] }[];
}

let vendor: ScriptedServer;
beforeEach(async () => {
  vendor = await ScriptedServer.open();
});
afterEach(() => vendor[Symbol.asyncDispose]());

describe.each(VENDORS)('the history of a task with a model of $provider that streams', (kind) => {
  const { provider, wire, base } = kind;
  const deltas = (text: string) => text.match(/.{1,3}/gs) ?? [];
  const says = (text: string) => eventsApart(wire.answer({ texts: deltas(text), stop: 'end' }));
  const calls = (text: string, ...made: readonly (readonly [name: string, given: object])[]) =>
    eventsApart(
      wire.answer({
        texts: deltas(text),
        calls: made.map(([name, given], at) => ({ id: `c${at}`, name, json: deltas(JSON.stringify(given)) })),
        stop: 'function-calls',
      }),
    );
  /** Two sub-agents work at the same time; the second one calls a tool between its texts. */
  const reply: Reply = (response, request) => {
    const { messages } = wire.sent(request.body);
    const last = messages.at(-1)!;
    const transfer = (agent_name: string, words: string) =>
      ['transfer_to_agent', { agent_name, request: words, final: false }] as const;
    const script: Readonly<Record<string, Reply>> = {
      [REQUEST]: calls('', transfer('operator', 'part one'), transfer('librarian', 'part two')),
      'part one': says(ONE),
      'part two': calls(LOOK, ['save_knowledge_x', { path: 'x' }]),
      ' | result ': says(ANSWER),
      'user: result ': says(TWO),
    };
    const words = Object.keys(script).find((one) => last.includes(one));
    return script[words!]!(response, request);
  };
  const options = (): ServerOptions => ({
    tools: [toolNamed('exec_one'), toolNamed('save_knowledge_x')],
    settings: {
      server: { port: 0 },
      model: { provider, name: 'claude-test', apiKey: API_KEY, baseUrl: `${vendor.url}${base}` },
    },
  });

  const json = async (server: TestServer, path: string): Promise<unknown> =>
    (await server.fetch(path)).json();
  const rpc = async (server: TestServer, method: string, params: object): Promise<unknown> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    return ((await (await server.fetch('/', { method: 'POST', body })).json()) as { result: unknown }).result;
  };
  const texts = (task: unknown): readonly string[] =>
    (task as OldTask).history.map(({ parts }) => parts.map(({ text }) => text).join(''));

  it('holds one message for each text, over get, list and A2A 0.3', async () => {
    vendor.willAlwaysReply(reply);
    await withServer(options(), async (server) => {
      const { taskId, end } = await sendText(server, REQUEST);
      expect(end).toMatchObject({ state: 'completed', text: ANSWER });

      const history = texts(await json(server, `/tasks/${taskId}`));
      expect(history[0]).toBe(REQUEST);
      expect([...history].sort()).toEqual([REQUEST, ONE, LOOK, TWO].sort());
      expect(history.indexOf(LOOK)).toBeLessThan(history.indexOf(TWO));

      const listed = (await json(server, '/tasks?historyLength=3')) as { readonly tasks: readonly unknown[] };
      expect(listed.tasks.map(texts)).toEqual([history.slice(-3)]);
      expect(texts(await rpc(server, 'tasks/get', { id: taskId }))).toEqual(history);
      const own = await server.client.get({ taskId });
      expect(own.history.map(({ parts }) => textOf(parts))).toEqual(history);

      const ids = (await json(server, `/tasks/${taskId}`)) as { history: { messageId: string }[] };
      expect(new Set(ids.history.map(({ messageId }) => messageId)).size).toBe(4);
    });
  });

  it('holds the texts that an agent below wrote before its calls and its question, each whole and in its order', async () => {
    const [ASK, REPLY] = ['I need one more word.', 'The word is blue.'];
    vendor.willReply(
      calls('', ['transfer_to_agent', { agent_name: 'librarian', request: 'part two', final: true }]),
      calls(LOOK, ['save_knowledge_x', { path: 'x' }]),
      calls(ASK, ['ask_user', { question: 'Which word?' }]),
      says(TWO),
    );
    await withServer(options(), async (server) => {
      const first = await sendText(server, REQUEST);
      const { taskId } = first;
      const { end, events } = await sendText(server, REPLY, { taskId });
      expect(end).toMatchObject({ state: 'completed', text: TWO });
      const task = (await json(server, `/tasks/${taskId}`)) as OldTask & { readonly artifacts: unknown };
      expect(texts(task)).toEqual([REQUEST, LOOK, ASK, expect.stringContaining('Which word?'), REPLY]);
      expect(task.artifacts).toMatchObject([{ parts: [{ text: TWO }] }]);
      const told = [...first.events, ...events].map((event) => {
        if (event.type === 'text-delta') return `${event.replace ? '\n' : ''}${event.text}`;
        return event.type === 'activity' && event.activity.type === 'tool-call' ? '\ncall' : '';
      });
      // The text after a reply begins with the text before it.
      expect(told.join('').trim().split('\n')).toEqual([LOOK, 'call', ASK, ASK, 'call', TWO]);
    });
  });
});
