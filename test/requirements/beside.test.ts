import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ServerOptions } from '../../src/index.js';
import { toolNamed } from '../support/agent-fixtures.js';
import { API_KEY } from '../support/model-wire.js';
import { ScriptedServer, events } from '../support/scripted-server.js';
import type { TestServer } from '../support/server.js';
import { sendText, withServer } from '../support/server.js';
import { VENDORS } from '../support/vendors.js';

/** A task neither sees nor does the work of a concurrent task in the same context. */

let vendor: ScriptedServer;
beforeEach(async () => {
  vendor = await ScriptedServer.open();
});
afterEach(() => vendor[Symbol.asyncDispose]());

describe.each(VENDORS)(
  'concurrent work with a model of $provider that streams',
  ({ provider, wire, base }) => {
    const deltas = (text: string) => text.match(/.{1,4}/gs) ?? [];
    const calls = (name: string, each: readonly object[]) =>
      wire.answer({
        calls: each.map((given, index) => ({ id: `c${index}`, name, json: deltas(JSON.stringify(given)) })),
        stop: 'function-calls',
      });

    /**
     * A model that does everything that its newest user turn asks for: each "WRITE x" by one call, each "ASK x" by one
     * delegation.
     */
    const obedient = (body: object): string => {
      const { messages } = body as { readonly messages: readonly { readonly role: string }[] };
      const newest = JSON.stringify(messages.at(-1));
      const named = (word: string) =>
        [...newest.matchAll(new RegExp(`${word} (\\w+)`, 'g'))].map(([, name]) => name!);
      if (newest.includes('"tool_result"') || newest.includes('"role":"tool"')) {
        return wire.answer({ texts: deltas('All of it is done.'), stop: 'end' });
      }
      const asked = named('ASK').map((name) => ({
        agent_name: 'operator',
        request: `WRITE ${name}`,
        final: false,
      }));
      if (asked.length > 0) return calls('transfer_to_agent', asked);
      return calls(
        'exec_write',
        named('WRITE').map((path) => ({ path })),
      );
    };

    const withObedient = (
      execute: (path: string, signal: AbortSignal) => Promise<void>,
      use: (server: TestServer, written: readonly string[]) => Promise<void>,
    ) => {
      vendor.willAlwaysReply((response, request) => events(obedient(request.body))(response, request));
      const written: string[] = [];
      const tool = toolNamed('exec_write', {
        execute: async (path, { signal }) => {
          written.push(path);
          await execute(path, signal);
          return { content: `${path} is written` };
        },
      });
      const model = { provider, name: 'claude-test', apiKey: API_KEY, baseUrl: `${vendor.url}${base}` };
      const options: ServerOptions = { tools: [tool], settings: { server: { port: 0 }, model } };
      return withServer(options, (server) => use(server, written));
    };

    it('is kept apart in parallel delegations to one agent, in every order', async () => {
      const pauses: number[] = [];
      await withObedient(
        async () => void (await delay(pauses.shift() ?? 0)),
        async (server, written) => {
          const order = fc.array(fc.nat({ max: 30 }), { minLength: 2, maxLength: 4 });
          let round = 0;
          await fc.assert(
            fc.asyncProperty(order, async (given) => {
              round += 1;
              const names = given.map((_, index) => `file${round}x${index}`);
              pauses.splice(0, pauses.length, ...given);
              const before = written.length;
              const { end } = await sendText(server, names.map((name) => `ASK ${name}`).join(' and '));
              expect(end.state).toBe('completed');
              expect(written.slice(before).toSorted()).toEqual(names.toSorted());
            }),
            { numRuns: 15 },
          );
        },
      );
    });

    it('is kept apart in concurrent messages of one context, and the next task sees both', async () => {
      await withObedient(
        () => delay(20),
        async (server, written) => {
          const sending = { contextId: 'one-context', agent: 'operator' };
          const names = ['one', 'two', 'three'];
          await Promise.all(names.map((name) => sendText(server, `WRITE ${name}`, sending)));
          expect(written.toSorted()).toEqual(names.toSorted());
          await sendText(server, 'WRITE four', sending);
          const sent = JSON.stringify(vendor.requests.at(-1)!.body['messages']);
          for (const name of names) expect(sent).toContain(`WRITE ${name}`);
          expect(written.slice(3)).toEqual(['four']);
        },
      );
    });

    it('does not include the request of a canceled task', async () => {
      const started = Promise.withResolvers<void>();
      await withObedient(
        async (path, signal) => {
          if (path !== 'slow') return;
          started.resolve();
          await delay(60_000, undefined, { signal });
        },
        async (server, written) => {
          const sending = { contextId: 'one-context', agent: 'operator' };
          const slow = sendText(server, 'WRITE slow', sending);
          await started.promise;
          const { tasks } = await server.client.list({ agent: 'operator' });
          await server.client.cancel({ taskId: tasks[0]!.id, agent: 'operator' });
          expect((await slow).end.state).toBe('canceled');
          await sendText(server, 'WRITE next', sending);
          expect(written).toEqual(['slow', 'next']);
          expect(JSON.stringify(vendor.requests.at(-1)!.body['messages'])).toContain('ended as canceled');
        },
      );
    });
  },
);
