import { afterEach, describe, expect, it } from '@jest/globals';
import Database from 'better-sqlite3';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Run, RunEnd } from '../../src/core/run.js';
import { eventsIn, type EventRow } from '../../src/storage/event-rows.js';
import { verifyDatabase } from '../../src/storage/sqlite/verify.js';
import { scriptedAgent } from '../support/scripted-agent.js';
import { ScriptedModel, ask, call, say } from '../support/scripted-model.js';
import type { Outcome, TestServer } from '../support/server.js';
import { beginTask, sendText, startServer, untilEnded } from '../support/server.js';

/** The journal of a task that delegates within its process refers to the entries of the child in place of copies. */

const PARTS = ['one', 'two', 'three'].map((word) =>
  `part ${word} of an answer that nobody needs to keep twice. `.repeat(4),
);
const WHOLE = PARTS.join('');
const BYTES = Buffer.from(WHOLE).toString('base64');

/** Says its answer in three entries, shows a call and its result, and delivers a file. */
async function work(run: Run): Promise<RunEnd> {
  const step = { step: 's1', callId: 'c1' };
  const path = WHOLE;
  await run.append({
    type: 'tool-call',
    ...step,
    tool: 'look',
    arguments: { path },
    effect: 'pure',
    key: 'k',
  });
  const result = { id: 'c1', name: 'look', isError: false, content: WHOLE };
  await run.append({ type: 'tool-result', step: 's1', result });
  for (const [index, text] of PARTS.entries())
    await run.append({ type: 'text-delta', artifactId: 'answer', text, replace: index === 0 });
  const artifact = { id: 'file', name: 'a file', parts: [{ kind: 'file', bytes: BYTES }] } as const;
  await run.append({ type: 'artifact', artifact, append: false });
  return { state: 'completed' };
}

const servers: TestServer[] = [];
const homes: string[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
  await Promise.all(homes.splice(0).map((home) => rm(home, { recursive: true, force: true })));
});

async function newHome(): Promise<string> {
  const home = await mkdtemp(path.join(tmpdir(), 'lango-once-'));
  homes.push(home);
  return home;
}

async function serve(home: string, options: Parameters<typeof startServer>[0] = {}): Promise<TestServer> {
  const server = await startServer({ home, ...options });
  servers.push(server);
  return server;
}

const delegating = (final: boolean) =>
  new ScriptedModel({ orchestrator: [call(ask('clerk', 'work', final)), say('done')] });

interface Row {
  readonly type: string;
  readonly body: string;
}

/** The entries of the tasks of an agent, as they are stored. */
function rowsOf(home: string, agent = 'lango-orchestrator'): readonly Row[] {
  const database = new Database(path.join(home, 'lango.db'), { readonly: true });
  const sql = 'SELECT * FROM events WHERE task IN (SELECT key FROM tasks WHERE agent = ?) ORDER BY task, seq';
  const rows = database.prepare<[string], EventRow>(sql).all(agent);
  database.close();
  return rows
    .flatMap(eventsIn)
    .map(({ body }) => ({ type: (JSON.parse(body) as { type: string }).type, body }));
}

const LONG = /nobody needs|bm9ib2R5/;

/** All that clients can read of a task: the task, and its stream from the start. */
async function readings(server: TestServer, { taskId }: Pick<Outcome, 'taskId'>) {
  const task: unknown = await (await server.fetch(`/tasks/${taskId}`)).json();
  const headers = { 'last-event-id': '1', accept: 'text/event-stream' };
  const stream = await (await server.fetch(`/tasks/${taskId}:subscribe`, { method: 'POST', headers })).text();
  return { task, stream };
}

/** The text of the answer in a stream, however many pieces it came in. */
function textIn(stream: string): string {
  interface Update {
    readonly artifactUpdate?: {
      readonly artifact: {
        readonly artifactId: string;
        readonly parts: readonly { readonly text?: string }[];
      };
    };
  }
  const updates = [...stream.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json!) as Update);
  return updates
    .map(({ artifactUpdate }) => artifactUpdate?.artifact)
    .flatMap((artifact) => (artifact?.artifactId === 'answer' ? artifact.parts : []))
    .map(({ text }) => text)
    .join('');
}

describe('the journal of a task that delegates in its process', () => {
  it.each([true, false])(
    'keeps what the agent below wrote once, and shows it whole (final: %s)',
    async (final) => {
      const home = await newHome();
      const options = { agents: [scriptedAgent('clerk', work)], model: delegating(final) };
      const first = await serve(home, options);
      const outcome = await sendText(first, 'go');
      expect(outcome.end).toMatchObject({ state: 'completed', text: final ? WHOLE : 'done' });
      const holding = rowsOf(home).filter(({ body }) => LONG.test(body));
      // The result of the delegation is what the model is sent.
      expect(holding.map(({ type }) => type)).toEqual(['delegation-end']);
      expect(rowsOf(home, 'clerk').filter(({ body }) => LONG.test(body))).toHaveLength(6);
      const before = await readings(first, outcome);
      for (const part of [...PARTS, BYTES]) expect(JSON.stringify(before.stream)).toContain(part.trim());
      expect(JSON.stringify(before.task)).toContain(WHOLE.trim());
      expect(JSON.stringify(before)).not.toContain('"from"');
      await first.stop();
      const again = await serve(home, options);
      expect(await readings(again, outcome)).toEqual(before);
      const exported = await (await again.fetch('/lango/data/tasks')).text();
      expect(exported.split(WHOLE).length).toBeGreaterThan(2);
      expect(verifyDatabase(path.join(home, 'lango.db')).problems).toEqual([]);
      expect((await again.fetch('/lango/data', { method: 'DELETE' })).status).toBe(200);
      expect([...rowsOf(home), ...rowsOf(home, 'clerk')]).toEqual([]);
    },
  );

  it('copies what an agent of another node wrote, and shows it when that node is gone', async () => {
    const [home, other] = [await newHome(), await newHome()];
    const far = await serve(other, {
      agents: [scriptedAgent('clerk', work)],
      settings: { server: { port: 0 } },
    });
    const { origin, token = '' } = far.address;
    const remote = { name: 'clerk', url: `${origin}/agents/clerk`, token, allowPrivate: true };
    const a2a = { enabled: true, remoteAgents: [remote] };
    const server = await serve(home, { model: delegating(false), settings: { server: { port: 0 }, a2a } });
    const outcome = await sendText(server, 'go');
    const types = rowsOf(home)
      .filter(({ body }) => LONG.test(body))
      .map(({ type }) => type);
    expect(new Set(types)).toEqual(new Set(['activity', 'text-delta', 'artifact', 'delegation-end']));
    expect(rowsOf(home).filter(({ body }) => body.includes('"from"'))).toEqual([]);
    await far.stop();
    expect(JSON.stringify(await readings(server, outcome))).toContain(WHOLE.trim());
  });

  it('shows each text once after the process of both ended in the middle', async () => {
    const home = await newHome();
    const written = Promise.withResolvers<void>();
    let runs = 0;
    const clerk = scriptedAgent('clerk', async (run) => {
      runs += 1;
      if (runs > 1) return work(run);
      await run.append({ type: 'text-delta', artifactId: 'answer', text: PARTS[0]!, replace: true });
      written.resolve();
      await new Promise((resolve) => run.signal.addEventListener('abort', resolve, { once: true }));
      throw run.signal.reason;
    });
    const options = { agents: [clerk], model: delegating(false) };
    const first = await serve(home, options);
    const taskId = await beginTask(first, 'go');
    await written.promise;
    await first.stop();
    const again = await serve(home, options);
    expect((await untilEnded(again, taskId)).state).toBe('completed');
    const { task } = await readings(again, { taskId });
    const { history } = task as { history: { parts: { text?: string }[] }[] };
    const said = history.map(({ parts }) => parts.map(({ text = '' }) => text).join(''));
    expect(said.filter((text) => LONG.test(text))).toEqual([WHOLE]);
    expect(runs).toBe(2);
  });

  it('says what is lost when the entries of the agent below are damaged, and nothing else', async () => {
    const home = await newHome();
    const options = { agents: [scriptedAgent('clerk', work)], model: delegating(true) };
    const first = await serve(home, options);
    const outcome = await sendText(first, 'go');
    await first.stop();
    const database = new Database(path.join(home, 'lango.db'));
    const damage =
      "UPDATE events SET body = replace(body, 'part two', 'part six') WHERE body LIKE '%part two%' AND type = 'text-delta'";
    expect(database.prepare(damage).run().changes).toBe(1);
    database.close();
    const again = await serve(home, options);
    const { task, stream } = await readings(again, outcome);
    for (const shown of [JSON.stringify(task), textIn(stream)]) {
      expect(shown).toMatch(
        /part one.*\[This text is lost: entry \d+ of task \S+ is missing or damaged\.\]part three/s,
      );
      expect(shown).not.toContain('part six');
    }
    expect(stream).not.toContain('part six');
    expect(verifyDatabase(path.join(home, 'lango.db')).problems).toEqual([
      expect.stringMatching(/^Entry \d+ of task .* is damaged\.$/),
    ]);
  });
});
