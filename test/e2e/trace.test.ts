import { describe, expect, it } from '@jest/globals';
import { continueTrace } from '../../src/core/trace.js';
import { openCardHost } from '../support/card-host.js';
import { PushReceiver } from '../support/push-receiver.js';
import { scriptedAgent } from '../support/scripted-agent.js';
import { ScriptedModel, ask, call } from '../support/scripted-model.js';
import type { TestServer } from '../support/server.js';
import { startServer, withServer } from '../support/server.js';

/** The W3C trace of a caller: through the task, to every agent and receiver, and into log and audit. */

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const GIVEN = `00-${TRACE_ID}-00f067aa0ba902b7-01`;
const STATE = 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE';
const HANDED_ON = new RegExp(`^00-${TRACE_ID}-(?!00f067aa0ba902b7)[0-9a-f]{16}-01$`);

/** An agent that responds with the trace of its task. */
const mirror = scriptedAgent('mirror', async (run) => {
  const { traceparent, tracestate } = run.grant.trace ?? {};
  const text = [traceparent ?? 'no trace', tracestate].filter(Boolean).join(' ');
  run.emit({ type: 'text-delta', artifactId: 'a', text, replace: true });
  return { state: 'completed' };
});

interface Sent {
  readonly trace?: string;
  readonly state?: string;
  readonly push?: string;
}

async function send(server: TestServer, path: string, { trace, state, push }: Sent) {
  const response = await server.fetch(`${path}/message:send`, {
    method: 'POST',
    headers: { ...(trace ? { traceparent: trace } : {}), ...(state ? { tracestate: state } : {}) },
    body: JSON.stringify({
      message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'which?' }] },
      ...(push ? { configuration: { taskPushNotificationConfig: { url: push } } } : {}),
    }),
  });
  const { task } = (await response.json()) as {
    readonly task: { readonly id: string; readonly artifacts?: readonly { parts: { text: string }[] }[] };
  };
  return { id: task.id, text: task.artifacts?.map(({ parts }) => parts[0]!.text).join() };
}

describe('the traceparent of a caller', () => {
  it.each([
    ['the trace of a caller', GIVEN, GIVEN],
    ['flags that nobody knows', `${GIVEN.slice(0, -2)}fd`, `${GIVEN.slice(0, -2)}01`],
    ['a later version', `cc${GIVEN.slice(2)}-more`, GIVEN],
    ['none', undefined, 'no trace'],
    ['text', 'x'.repeat(2_000), 'no trace'],
    ['version 00 with more', `${GIVEN}-more`, 'no trace'],
    ['the version that is none', `ff${GIVEN.slice(2)}`, 'no trace'],
    ['capitals', GIVEN.toUpperCase(), 'no trace'],
    ['zeros for a trace', GIVEN.replace(TRACE_ID, '0'.repeat(32)), 'no trace'],
    ['zeros for a parent', GIVEN.replace('00f067aa0ba902b7', '0'.repeat(16)), 'no trace'],
    ['two of them', `${GIVEN}, ${GIVEN}`, 'no trace'],
  ])('is passed on when it is valid, and else dropped: %s', async (_what, trace, text) => {
    await withServer({ agents: [mirror] }, async (server) => {
      const sent = trace === undefined ? {} : { trace };
      expect((await send(server, '/agents/mirror', sent)).text).toBe(text);
    });
  });
});

const members = (count: number, of = 'v'): string =>
  Array.from({ length: count }, (_, n) => `k${n}=${of}`).join(',');
const LONG = `long=${'x'.repeat(200)}`;

describe('the tracestate of a caller', () => {
  it.each([
    ['as it came', STATE, STATE],
    ['with spaces and empty members', ' rojo=1 ,, congo@x/y-z=a b ', 'rojo=1,congo@x/y-z=a b'],
    ['32 members', members(32), members(32)],
    ['33 members', members(33), undefined],
    [
      'more than 512 characters: long members first',
      `${LONG},${members(30, 'v'.repeat(8))}`,
      members(30, 'v'.repeat(8)),
    ],
    ['more than 512 characters: the oldest next', members(30, 'v'.repeat(30)), members(14, 'v'.repeat(30))],
    [
      '512 characters',
      `a=${'x'.repeat(252)},b=${'x'.repeat(255)}`,
      `a=${'x'.repeat(252)},b=${'x'.repeat(255)}`,
    ],
    ['one key twice', 'rojo=1,rojo=2', undefined],
    ['no value', 'rojo=1,congo', undefined],
    ['capitals', 'Rojo=1', undefined],
    ['a value that is none', 'rojo=1=2', undefined],
    ['none', undefined, undefined],
  ])('is passed on when it is valid, and else dropped: %s', async (_what, state, passed) => {
    await withServer({ agents: [mirror] }, async (server) => {
      const sent = { trace: GIVEN, ...(state === undefined ? {} : { state }) };
      const text = passed === undefined ? GIVEN : `${GIVEN} ${passed}`;
      expect((await send(server, '/agents/mirror', sent)).text).toBe(text);
    });
  });

  it('is dropped without a traceparent', async () => {
    await withServer({ agents: [mirror] }, async (server) => {
      expect((await send(server, '/agents/mirror', { state: STATE })).text).toBe('no trace');
    });
  });
});

describe('a trace', () => {
  it('is written to the log and the audit log, and sent with push notifications', async () => {
    await using receiver = await PushReceiver.open();
    const settings = { server: { port: 0 }, egress: { allowPrivate: ['127.0.0.1'] } };
    const logging = scriptedAgent('mirror', async ({ logger }) => {
      logger.info('works');
      await Promise.resolve();
      return { state: 'completed' };
    });
    const logged: object[] = [];
    await withServer({ agents: [logging], settings }, async (server) => {
      server.log.child = function child(fields?: object) {
        if (fields) logged.push(fields);
        return this;
      };
      await send(server, '/agents/mirror', { trace: GIVEN, state: STATE, push: receiver.url });
      await receiver.untilEnd();
      for (const { headers } of receiver.got) {
        expect(headers['traceparent']).toMatch(HANDED_ON);
        expect(headers['tracestate']).toBe(STATE);
      }
      const audit = server.log.lines.find((line) => line.includes('"audit"'));
      expect(audit).toContain(`"traceId":"${TRACE_ID}"`);
      expect(logged).toContainEqual(expect.objectContaining({ agent: 'mirror', traceId: TRACE_ID }));
    });
  });

  it('is passed on to agents in the process, over HTTP and over gRPC, with the span of the delegation', async () => {
    const grpc = { enabled: true, port: 0 };
    const far = await startServer({ agents: [mirror], settings: { server: { port: 0, grpc } } });
    await using cards = await openCardHost(far.address.origin);
    try {
      const there = { token: far.address.token!, allowPrivate: true };
      const remoteAgents = [
        { name: 'over-http', url: `${far.address.origin}/agents/mirror`, ...there },
        { name: 'over-grpc', url: `${cards.url}/agents/mirror`, ...there },
      ];
      for (const agent of ['mirror', 'over-http', 'over-grpc']) {
        const model = new ScriptedModel({ orchestrator: [call(ask(agent, 'which?', true))] });
        const settings = { server: { port: 0 }, a2a: { enabled: true, remoteAgents } };
        await withServer({ agents: [mirror], model, settings }, async (server) => {
          const { text, id } = await send(server, '', { trace: GIVEN, state: STATE });
          const { traceparent } = continueTrace({ id, grant: { trace: { traceparent: GIVEN } } }, 't1.c0');
          expect(traceparent).toMatch(HANDED_ON);
          expect([agent, text]).toEqual([agent, `${traceparent} ${STATE}`]);
        });
      }
    } finally {
      await far.stop();
    }
  });
});
