import { describe, expect, it } from '@jest/globals';
import type { ModelAnswer, ModelEvent } from '../../src/core/model.js';
import { langoHere } from '../cli/lango-here.js';
import { AUDIENCE, startIssuer } from '../support/issuer.js';
import { ScriptedModel, ask, call, say, type Play, type Played } from '../support/scripted-model.js';
import { sendText, startServer, withServer, type TestServer } from '../support/server.js';

/** The limit of an owner's cost per day. A response of these models costs 0.2. */

const ANSWER: ModelAnswer = { ...say('fine'), usage: { input: 0, output: 200, cached: 0 } };
const settings = (ownerCostPerDay: number) => ({
  server: { port: 0 },
  prices: { scripted: { input: 0, output: 1_000 } },
  agent: { limits: { ownerCostPerDay, answerTokens: 300 } },
});

/** A model whose next response waits until `go`. */
class HeldModel extends ScriptedModel {
  readonly held: (() => void)[] = [];

  override async *stream(request: Parameters<ScriptedModel['stream']>[0]): AsyncIterable<ModelEvent> {
    await new Promise<void>((resolve) => this.held.push(resolve));
    yield* super.stream(request);
  }
}

const say200: readonly Play[] = [ANSWER];
const run = async (server: TestServer, text: string) => (await sendText(server, text)).end;

describe('agent.limits.ownerCostPerDay', () => {
  it('ends a task with the reason before a call beyond the limit, and counts earlier cost', async () => {
    const model = new ScriptedModel({ orchestrator: say200 });
    await withServer({ model, settings: settings(0.6) }, async (server) => {
      expect((await run(server, 'one')).state).toBe('completed');
      const second = await run(server, 'two');
      expect(second.state).toBe('completed');
      const third = await run(server, 'three');
      expect(third).toMatchObject({ state: 'failed' });
      expect(third.text).toContain('agent.limits.ownerCostPerDay');
      expect(model.requests).toHaveLength(2);
    });
  });

  it('is reserved before a call: of two concurrent calls, the one beyond the limit ends its task', async () => {
    const model = new HeldModel({ orchestrator: say200 });
    await withServer({ model, settings: settings(0.5) }, async (server) => {
      const first = run(server, 'one');
      while (model.held.length === 0) await new Promise(setImmediate);
      expect((await run(server, 'two')).text).toContain('the 0.2000 USD that are left');
      model.held.pop()!();
      expect((await first).state).toBe('completed');
      // The reservation was for 300 tokens, and the response had 200.
      const third = run(server, 'three');
      while (model.held.length === 0) await new Promise(setImmediate);
      model.held.pop()!();
      expect((await third).state).toBe('completed');
    });
  });

  it('returns the unused part after a failed call, and counts the part that the vendor reported', async () => {
    const failing = (output: number): readonly Play[] => [
      [
        {
          ...{ type: 'error', code: 'overloaded', message: 'busy', retryable: false },
          failed: [{ usage: { input: 0, output, cached: 0 } }],
        },
      ],
    ];
    for (const [output, state] of [
      [0, 'completed'],
      [200, 'failed'],
    ] as const) {
      let plays = failing(output);
      const model = new ScriptedModel({ orchestrator: [(request) => pick(plays[0]!, request)] });
      await withServer({ model, settings: settings(0.4) }, async (server) => {
        expect((await run(server, 'one')).state).toBe('failed');
        const bill = (await (await server.fetch('/lango/bill')).json()) as { rows: { cost: number }[] };
        expect(bill.rows.map(({ cost }) => cost)).toEqual(output === 0 ? [] : [0.2]);
        plays = say200;
        expect((await run(server, 'two')).state).toBe(state);
      });
    }
  });

  it('includes delegations to another node, also many at once', async () => {
    const answer: ModelAnswer = { ...say('fine'), usage: { input: 0, output: 100, cached: 0 } };
    const far = await startServer({
      model: new ScriptedModel({ orchestrator: [answer] }),
      settings: { ...settings(9), agent: { limits: { answerTokens: 100 } } },
    });
    const { origin: url, token = '' } = far.address;
    const model = new ScriptedModel({
      orchestrator: [call(ask('far', 'go on', true)), say('It cannot go on.')],
    });
    const near = {
      ...settings(0.9),
      agent: { limits: { ownerCostPerDay: 0.9, answerTokens: 20 } },
      a2a: { enabled: true, remoteAgents: [{ name: 'far', url, token, allowPrivate: true }] },
    };
    try {
      await withServer({ model, settings: near }, async (server) => {
        const spent = async () => {
          const bill = (await (await server.fetch('/lango/bill')).json()) as { rows: { cost: number }[] };
          return bill.rows.reduce((sum, { cost }) => sum + cost, 0);
        };
        // Each task costs 0.005 here and 0.1 there.
        const ends = await Promise.all(Array.from({ length: 20 }, (_, each) => run(server, `task ${each}`)));
        const fine = ends.filter(({ text }) => text === 'fine');
        expect(fine.length).toBeGreaterThan(1);
        expect(await spent()).toBeLessThanOrEqual(0.9);
        for (let last = 'fine'; last === 'fine';) last = (await run(server, 'one more')).text;
        // The part of a reservation that the delegations did not use was returned.
        expect(await spent()).toBeGreaterThan(0.7);
      });
    } finally {
      await far.stop();
    }
  });

  it('includes the cost of memory in the background, which the bill shows', async () => {
    const note: ModelAnswer = { ...call(['record_lines', { lines: ['likes tea'] }]), usage: ANSWER.usage };
    const model = new ScriptedModel({ orchestrator: [ANSWER, ANSWER], flat: [note] });
    const memory = { observationalMemory: { enabled: true, observeTokens: 1 } };
    await withServer({ model, settings: { ...settings(0.8), ...memory } }, async (server) => {
      for (const text of ['I like tea.', 'Do I?']) {
        const { end } = await sendText(server, text, { contextId: 'tea' });
        expect(end.state).toBe('completed');
      }
      const rows = async (): Promise<readonly { agent: string; cost: number }[]> =>
        ((await (await server.fetch('/lango/bill')).json()) as { rows: [] }).rows;
      while ((await rows()).length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
      expect((await rows()).map(({ agent, cost }) => [agent, cost])).toEqual([
        ['lango-orchestrator', 0.4],
        ['memory', 0.2],
      ]);
      // 0.2 of 0.8 is left, and every response has at least 256 tokens.
      expect((await run(server, 'And I?')).state).toBe('failed');
    });
  });

  it('requires the price of the model', async () => {
    const model = new ScriptedModel({ orchestrator: say200 });
    const start = startServer({ model, settings: { ...settings(1), prices: {} } });
    await expect(start).rejects.toMatchObject({ code: 'invalid-config' });
  });
});

describe('lango bill --by owner', () => {
  it('shows the cost of each owner to an operator, and to nobody else', async () => {
    const issuer = await startIssuer();
    const auth = { mode: 'jwt' as const, jwt: { issuer: issuer.url, audience: [AUDIENCE] } };
    const egress = { allowPrivate: [new URL(issuer.url).host] };
    const model = new ScriptedModel({ orchestrator: say200 });
    try {
      await withServer({ model, settings: { ...settings(9), auth, egress } }, async (server) => {
        const { origin } = server.address;
        const bill = async (claims: object) => {
          const env = { LANGO_URL: origin, LANGO_TOKEN: await issuer.token({ ...claims }) };
          return langoHere(['bill', '--by', 'owner'], { env });
        };
        for (const sub of ['alice', 'bob', 'bob']) {
          const authorization = `Bearer ${await issuer.token({ sub })}`;
          const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'hi' }] };
          const body = JSON.stringify({ message });
          await server.fetch('/message:send', { method: 'POST', headers: { authorization }, body });
        }
        const shown = await bill({ sub: 'root', scope: 'lango:operator' });
        expect(shown.stdout.split('\n')).toEqual([
          'user:alice  0 in, 200 out  0.2000 USD',
          'user:bob    0 in, 400 out  0.4000 USD',
          '',
        ]);
        expect((await bill({ sub: 'bob' })).stderr).toContain('refused access');
      });
    } finally {
      await issuer.close();
    }
  });
});

function pick(play: Play, request: Parameters<ScriptedModel['stream']>[0]): Played {
  return typeof play === 'function' ? play(request) : play;
}
