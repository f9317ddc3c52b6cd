import { describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { SettingsInput } from '../../src/index.js';
import { freePort } from '../support/free-port.js';
import { openCollector, unique, type CollectedSpan, type OtlpCollector } from '../support/otlp-collector.js';
import { scriptedAgent } from '../support/scripted-agent.js';
import { ScriptedModel, ask, call, say } from '../support/scripted-model.js';
import { startServer, withServer, type TestServer } from '../support/server.js';

/** The export of spans, with a real collector of OTLP and whole servers. */

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER = '00f067aa0ba902b7';

const echo = scriptedAgent('echo', async (run) => {
  await run.append({ type: 'turn-start', step: 't1' });
  return { state: 'completed' };
});

const exporting = ({ url }: Pick<OtlpCollector, 'url'>, service = 'lango', content = false) => ({
  telemetry: { otlp: { url, service, headers: { 'x-key': 'key-of-the-collector' } }, content },
});

async function send(server: TestServer, text: string, traceparent?: string): Promise<string> {
  const response = await server.fetch('/message:send', {
    method: 'POST',
    headers: traceparent === undefined ? {} : { traceparent },
    body: JSON.stringify({
      message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] },
    }),
  });
  return ((await response.json()) as { readonly task: { readonly id: string } }).task.id;
}

/** The names from the span up to the first one without a parent here. */
function pathOf(spans: readonly CollectedSpan[], span: CollectedSpan): readonly string[] {
  const above = spans.find(({ id }) => id === span.parent);
  return above ? [...pathOf(spans, above), span.name] : [span.name];
}

describe('the export of spans', () => {
  it('produces one connected trace of three nodes, below the span of the caller', async () => {
    await using collector = await openCollector();
    const node = (service: string, options: Parameters<typeof startServer>[0], next?: TestServer) =>
      startServer({
        ...options,
        settings: {
          server: { port: 0 },
          ...exporting(collector, service),
          ...(next && {
            a2a: {
              enabled: true,
              remoteAgents: [
                { name: 'next', url: next.address.origin, token: next.address.token!, allowPrivate: true },
              ],
            },
          }),
        },
      });
    const delegating = () => new ScriptedModel({ orchestrator: [call(ask('next', 'go on')), say('done')] });
    const third = await node('third', { model: new ScriptedModel({ orchestrator: [say('the end')] }) });
    const second = await node('second', { model: delegating() }, third);
    const first = await node('first', { model: delegating() }, second);
    try {
      await send(first, 'begin', `00-${TRACE_ID}-${CALLER}-01`);
      const spans = await collector.until(10);
      expect(spans).toHaveLength(10);
      expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([TRACE_ID]));
      const top = spans.filter(({ parent }) => !spans.some(({ id }) => id === parent));
      expect(top.map(({ parent, service }) => [parent, service['service.name']])).toEqual([
        [CALLER, 'first'],
      ]);
      const end = spans.find(
        ({ name, service }) => name.startsWith('chat') && service['service.name'] === 'third',
      )!;
      const task = 'invoke_agent lango-orchestrator';
      expect(pathOf(spans, end)).toEqual([
        task,
        'invoke_agent next',
        task,
        'invoke_agent next',
        task,
        end.name,
      ]);
      expect(end.attributes).toMatchObject({
        'gen_ai.operation.name': 'chat',
        'gen_ai.usage.input_tokens': 10,
        'gen_ai.response.finish_reasons': ['end'],
      });
      expect(JSON.stringify(spans.map(({ attributes }) => attributes))).not.toMatch(/begin|go on|the end/);
      expect(collector.headers[0]!['x-key']).toBe('key-of-the-collector');
    } finally {
      for (const server of [first, second, third]) await server.stop();
    }
  });

  it('has texts only when that is configured', async () => {
    await using collector = await openCollector();
    const model = new ScriptedModel({ orchestrator: [say('the answer')] });
    const settings = { server: { port: 0 }, ...exporting(collector, 'lango', true) };
    await withServer({ model, settings }, async (server) => {
      await send(server, 'the question');
      const spans = await collector.until(2);
      const said = Object.assign({}, ...spans.map(({ attributes }) => attributes)) as Record<string, string>;
      expect(said['gen_ai.input.messages']).toContain('the question');
      expect(said['gen_ai.output.messages']).toContain('the answer');
    });
  });

  it('loses and duplicates nothing: off at first, then no collector, restarts, and a failing collector', async () => {
    const home = await mkdtemp(path.join(tmpdir(), 'lango-export-'));
    const port = await freePort();
    const closed = { url: `http://127.0.0.1:${port}/v1/traces` };
    const node = (settings: SettingsInput) =>
      startServer({
        home,
        agents: [echo],
        model: new ScriptedModel({ orchestrator: [say('hi')] }),
        settings,
      });
    const ids: string[] = [];
    const run = async (settings: SettingsInput, use?: (server: TestServer) => Promise<unknown>) => {
      const server = await node({ server: { port: 0 }, ...settings });
      for (let n = 0; n < 3; n += 1) ids.push(await send(server, 'hello'));
      await use?.(server);
      await server.stop();
    };
    try {
      await run({});
      await run(exporting(closed));
      await using collector = await openCollector(port);
      // The collector accepts the first request and reports a failure.
      let failures = 2;
      collector.status = (spans) => {
        if (failures === 2) collector.spans.push(...spans);
        failures -= 1;
        return failures >= 0 ? 503 : 200;
      };
      await run(exporting(collector), () => collector.until(18));
      await run(exporting(collector), () => collector.until(24));
      const tasks = unique(collector.spans).flatMap(({ attributes }) => attributes['lango.task'] ?? []);
      expect(tasks.toSorted()).toEqual(ids.toSorted());
      expect(unique(collector.spans)).toHaveLength(24);
      await run({});
      await run(exporting(collector, 'last'), () => collector.until(36));
      // No exported span is exported again. The requests of stopped servers are repeated for 10 s, as all run in this process.
      expect(collector.spans.filter(({ service }) => service['service.name'] === 'last')).toHaveLength(12);
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });

  it('leaves out the spans that a collector refuses, unless the collector refuses everything', async () => {
    await using collector = await openCollector();
    let isWrong = true;
    collector.status = (spans) =>
      isWrong || spans.some(({ attributes }) => attributes['gen_ai.agent.name'] === 'echo') ? 400 : 200;
    const settings = { server: { port: 0 }, ...exporting(collector) };
    const model = new ScriptedModel({ orchestrator: [call(ask('echo', 'hi')), say('done')] });
    await withServer({ agents: [echo], model, settings }, async (server) => {
      await send(server, 'hello');
      await server.log.saying('spans could not be exported');
      isWrong = false;
      const spans = await collector.until(4);
      expect(spans.map(({ name }) => name)).not.toContain('invoke_agent echo');
      await server.log.saying('the collector refused spans');
      expect(server.log.lines.filter((line) => line.includes('"spans":2'))).toHaveLength(1);
    });
  });
});
