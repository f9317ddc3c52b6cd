import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ServerOptions } from '../../src/index.js';
import { toolNamed } from '../support/agent-fixtures.js';
import { API_KEY } from '../support/model-wire.js';
import { ScriptedServer, events, eventsApart } from '../support/scripted-server.js';
import type { TestServer } from '../support/server.js';
import { withServer } from '../support/server.js';
import { langoHere } from './lango-here.js';
import { VENDORS } from '../support/vendors.js';

/** The terminal output of a task whose model streams a few letters at a time over a vendor's wire. */

let vendor: ScriptedServer;
beforeEach(async () => {
  vendor = await ScriptedServer.open();
});
afterEach(() => vendor[Symbol.asyncDispose]());

describe.each(VENDORS)('lango send with a model of $provider that streams', ({ provider, wire, base }) => {
  const options = (): ServerOptions => {
    const model = { provider, name: 'claude-test', apiKey: API_KEY, baseUrl: `${vendor.url}${base}` };
    return {
      tools: [toolNamed('exec_one'), toolNamed('save_knowledge_x')],
      settings: { server: { port: 0 }, model },
    };
  };
  const deltas = (text: string) => text.match(/.{1,3}/gs) ?? [];
  const says = (text: string) => eventsApart(wire.answer({ texts: deltas(text), stop: 'end' }));
  const delegates = (words: string, ...to: readonly { agent: string; final: boolean; request?: string }[]) =>
    eventsApart(
      wire.answer({
        texts: deltas(words),
        calls: to.map(({ agent, final, request = 'do it' }, index) => ({
          id: `d${index}`,
          name: 'transfer_to_agent',
          json: deltas(JSON.stringify({ agent_name: agent, request, final })),
        })),
        stop: 'function-calls',
      }),
    );
  const run = ({ address }: TestServer, ...args: readonly string[]) =>
    langoHere(['send', ...args, 'do it'], {
      env: { LANGO_URL: address.origin, LANGO_TOKEN: address.token! },
    });

  it("prints the text before a delegation and the sub-agent's last line before the later events", async () => {
    vendor.willReply(
      delegates('I ask the operator.', { agent: 'operator', final: false }),
      says('first line\nlast line without an end'),
      says('All is done.'),
    );
    await withServer(options(), async (server) => {
      const { stdout } = await run(server, '--stream');
      expect(stdout.split('\n').slice(2, -2)).toEqual([
        'lango-orchestrator:',
        'I ask the operator.',
        'lango-orchestrator → operator do it',
        'operator first line',
        'operator last line without an end',
        'lango-orchestrator ← operator ✔ completed',
        'lango-orchestrator:',
        'All is done.',
      ]);
    });
  });

  it('prints all of a text that a sub-agent writes before its call, and its final output below the call', async () => {
    const call = { id: 'c0', name: 'exec_one', json: [JSON.stringify({ path: 'x' })] };
    const looks = eventsApart(
      wire.answer({ texts: deltas('I look into the folder.'), calls: [call], stop: 'function-calls' }),
    );
    vendor.willReply(delegates('', { agent: 'operator', final: true }), looks, says('It is done.'));
    await withServer(options(), async (server) => {
      const { stdout } = await run(server, '--stream');
      expect(stdout.split('\n').slice(2, -2)).toEqual([
        'lango-orchestrator → operator do it',
        'operator:',
        'I look into the folder.',
        'operator ▸ exec_one path="x"',
        'operator ◂ exec_one: exec_one of x',
        'lango-orchestrator ← operator ✔ completed',
        'operator:',
        'It is done.',
      ]);
    });
  });

  it('lists a task by its request although its sub-agents wrote much', async () => {
    const many = Array.from({ length: 11 }, (_, at) => ({
      agent: 'operator',
      final: false,
      request: `part ${at}`,
    }));
    const part = events(wire.answer({ texts: deltas('A part is done.'), stop: 'end' }));
    vendor.willReply(delegates('I ask.', ...many), ...many.map(() => part), says('Done.'));
    await withServer(options(), async (server) => {
      const env = { LANGO_URL: server.address.origin, LANGO_TOKEN: server.address.token! };
      await run(server);
      const { stdout } = await langoHere(['tasks', 'list', '--agent', 'lango-orchestrator'], { env });
      expect(stdout).toMatch(/lango-orchestrator .*completed {2}do it\n$/);
      const all = await langoHere(['tasks', 'list'], { env });
      expect(all.stdout).toMatch(/^.* lango-orchestrator .*completed {2}do it\n$/);
      expect(all.stderr).toContain('11 tasks of sub-agents left out: --agent NAME lists them.');
      const { tasks } = JSON.parse(
        (await langoHere(['tasks', 'list', '--agent', 'lango-orchestrator', '--json'], { env })).stdout,
      ) as { readonly tasks: readonly { readonly history: readonly object[] }[] };
      expect(tasks[0]!.history).toHaveLength(13);
    });
  });

  it('prints the trace of a task with the tasks below it', async () => {
    vendor.willReply(
      delegates('I ask the operator.', { agent: 'operator', final: false }),
      says('A secret answer.'),
      says('All is done.'),
    );
    await withServer(options(), async (server) => {
      const { taskId } = JSON.parse((await run(server, '--json')).stdout) as { readonly taskId: string };
      const env = { LANGO_URL: server.address.origin, LANGO_TOKEN: server.address.token! };
      const { stdout } = await langoHere(['tasks', 'trace', taskId], { env });
      const names = stdout.split('\n').map((line) => /^ *\S+ \S+/.exec(line)?.[0]);
      const [, model] = /^ {2}chat (\S+)/m.exec(stdout)!;
      expect(names.slice(0, -1)).toEqual([
        'invoke_agent lango-orchestrator',
        `  chat ${model}`,
        '  invoke_agent operator',
        '    invoke_agent operator',
        `      chat ${model}`,
        `  chat ${model}`,
      ]);
      expect(stdout).toMatch(/chat .* in, \d+ out · .*node /);
      expect(stdout).not.toContain('another node');
      const json = await langoHere(['tasks', 'trace', taskId, '--json'], { env });
      expect(json.stdout).not.toContain('secret answer');
      expect(await langoHere(['tasks', 'trace', 'nope'], { env })).toMatchObject({
        ...{ code: 1, stdout: '', stderr: expect.stringContaining('There is no task nope') },
      });
    });
  });

  it('names the agent that wrote the final output, in the summary, in the end event and on the artifact', async () => {
    const replies = [delegates('', { agent: 'operator', final: true }), says('Written by the operator.')];
    vendor.willReply(...replies, ...replies, ...replies);
    await withServer(options(), async (server) => {
      const summary = JSON.parse((await run(server, '--json')).stdout) as {
        readonly artifacts: readonly { readonly metadata: Record<string, { readonly author: string }> }[];
      };
      expect(summary).toMatchObject({ author: 'operator', text: 'Written by the operator.' });
      const marks = summary.artifacts.map(({ metadata }) => metadata['urn:lango:a2a:author:v1']!.author);
      expect(marks).toEqual(['operator']);

      const lines = (await run(server, '--json', '--stream')).stdout.trim().split('\n');
      const end = JSON.parse(lines.at(-1)!) as object;
      expect(end).toMatchObject({ type: 'end', author: 'operator', text: 'Written by the operator.' });

      const { stdout } = await run(server, '--stream');
      expect(stdout).toContain('operator:\nWritten by the operator.\n✔ completed');
    });
  });
});
