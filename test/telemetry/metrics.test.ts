import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { defineTool, scriptedModel } from '../../src/index.js';
import { sendText, withServer } from '../support/server.js';
import { AUDIENCE, startIssuer } from '../support/issuer.js';

const addNumbers = defineTool({
  name: 'fs_add',
  description: 'Adds two numbers.',
  schema: z.strictObject({ a: z.number(), b: z.number() }),
  effect: 'pure',
  execute: async ({ a, b }) => ({ content: String(a + b) }),
});

/** The samples of a scrape by name and labels, in the order of the text. Fails for a line that Prometheus refuses. */
async function samplesOf(answer: Response): Promise<Readonly<Record<string, number>>> {
  expect([answer.status, answer.headers.get('content-type')]).toEqual([
    200,
    'text/plain; version=0.0.4; charset=utf-8',
  ]);
  const samples: Record<string, number> = {};
  for (const line of (await answer.text()).split('\n')) {
    const [, name, value] = /^([a-z_:]\w*(?:\{.*\})?) (\S+)$/i.exec(line) ?? [];
    if (name !== undefined) samples[name] = Number(value);
    else expect(line).toMatch(/^$|^# (HELP|TYPE) /);
  }
  return samples;
}

describe('the metrics', () => {
  it('count runs, model and tool calls, tokens, money and requests, and have each metric of the dashboard', async () => {
    const call = (name: string) => ({ calls: [{ name, arguments: { a: 1, b: 2 } }] });
    const model = scriptedModel([
      call('fs_add'),
      call('fs_\u{1f600}'.padEnd(5_000, 'x')),
      'It is three.',
      { error: 'down' },
    ]);
    const settings = {
      agent: { multiAgent: false },
      metrics: { enabled: true },
      prices: { scripted: { input: 2, output: 10 } },
    };
    await withServer({ settings, model, tools: [addNumbers] }, async (server) => {
      expect((await sendText(server, 'add')).end.state).toBe('completed');
      expect((await sendText(server, 'add')).end.state).toBe('failed');
      const samples = await samplesOf(await server.fetch('/metrics'));
      expect(samples).toMatchObject({
        'lango_tasks_accepted_total{agent="lango-agent"}': 2,
        'lango_runs_ended_total{agent="lango-agent",state="completed",reason=""}': 1,
        'lango_runs_ended_total{agent="lango-agent",state="failed",reason="model-bad-answer"}': 1,
        'lango_model_calls_total{agent="lango-agent",model="scripted",outcome="function-calls"}': 2,
        'lango_model_calls_total{agent="lango-agent",model="",outcome="model-bad-answer"}': 1,
        'lango_tool_calls_total{agent="lango-agent",tool="fs_add",outcome="ok"}': 1,
        'lango_model_first_token_seconds_count{agent="lango-agent"}': 1,
        'lango_run_seconds_count{agent="lango-agent"}': 2,
        'lango_task_queue_seconds_count{agent="lango-agent"}': 2,
        'lango_journal_events_total{type="run-end"}': 2,
        'lango_http_requests_total{method="POST",status="200"}': 2,
        'lango_operations_total{operation="SendStreamingMessage",agent="lango-agent",outcome="ok"}': 2,
        lango_streams_open: 0,
      });
      const sum = (start: string) =>
        Object.entries(samples).reduce((all, [name, value]) => all + (name.startsWith(start) ? value : 0), 0);
      expect(sum('lango_model_tokens_total')).toBeGreaterThan(0);
      expect(sum('lango_model_cost_total')).toBeGreaterThan(0);
      expect(sum('lango_journal_append_seconds_count')).toBeGreaterThan(3);
      const text = Object.keys(samples).join('\n');
      expect(text).not.toMatch(/owner|tenant|x{200}/);

      const dashboard = readFileSync('deploy/grafana/lango.json', 'utf8');
      const families = new Set(Object.keys(samples).map((name) => name.replace(/\{.*/s, '')));
      const described = await (await server.fetch('/metrics')).text();
      for (const [, type] of described.matchAll(/^# TYPE (\w+) (?!histogram)/gm)) families.add(type!);
      const named = [...dashboard.matchAll(/\b(?:lango|nodejs|process)_\w+/g)].map(([name]) => name);
      expect(named.length).toBeGreaterThan(15);
      expect(
        named.filter((name) => !families.has(name) && !families.has(name.replace(/_bucket$/, '_count'))),
      ).toEqual([]);

      const anonymous = await fetch(`${server.address.origin}/metrics`);
      expect(anonymous.status).toBe(401);
    });
  });

  it('need the scope of operators with signed tokens, and no token from configured addresses', async () => {
    const issuer = await startIssuer();
    const jwt = { issuer: issuer.url, audience: [AUDIENCE] };
    const auth = { mode: 'jwt', jwt } as const;
    const model = scriptedModel([]);
    const statusFor = async (origin: string, token?: string): Promise<number> => {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      return (await fetch(`${origin}/metrics`, { headers })).status;
    };
    try {
      const settings = { auth, metrics: { enabled: true } };
      await withServer({ model, settings }, async ({ address: { origin } }) => {
        const plain = await issuer.token({ sub: 'ann' });
        const operator = await issuer.token({ sub: 'bob', scope: 'lango:operator' });
        const statuses = [statusFor(origin), statusFor(origin, plain), statusFor(origin, operator)];
        expect(await Promise.all(statuses)).toEqual([401, 403, 200]);
      });
    } finally {
      await issuer.close();
    }
    const open = { metrics: { enabled: true, allowFrom: ['10.0.0.0/8', '127.0.0.0/8'] } };
    await withServer({ model, settings: open }, async ({ address: { origin } }) => {
      expect(await statusFor(origin)).toBe(200);
    });
    const wrong = withServer(
      { model, settings: { metrics: { enabled: true, allowFrom: ['ten/8'] } } },
      async () => {},
    );
    await expect(wrong).rejects.toThrow('metrics.allowFrom: "ten/8" is neither an address nor a network');
  });

  it('are read with a token of their own, which does nothing else', async () => {
    const token = 'metrics-4Kd8sW2mQz7RvT5yHb9x';
    const settings = { metrics: { enabled: true, token } };
    await withServer({ model: scriptedModel([]), settings }, async ({ address: { origin } }) => {
      const statusOf = async (at: string, given: string): Promise<number> =>
        (await fetch(origin + at, { headers: { authorization: `Bearer ${given}` } })).status;
      expect(await statusOf('/metrics', token)).toBe(200);
      expect(await statusOf('/metrics', `${token}x`)).toBe(401);
      for (const at of ['/lango/agents', '/lango/bill', '/tasks'])
        expect(await statusOf(at, token)).toBe(401);
    });
  });

  it('are not served unless they are switched on', async () => {
    await withServer({ model: scriptedModel([]) }, async (server) => {
      expect((await server.fetch('/metrics')).status).toBe(404);
    });
  });
});
