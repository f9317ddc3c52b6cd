import { afterEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { silentLogger } from '../../src/core/logger.js';
import type { TaskEvent } from '../../src/core/task.js';
import type { ClientEvent, Tool } from '../../src/index.js';
import { openSqliteStorage } from '../../src/storage/sqlite/storage.js';
import { toolNamed } from '../support/agent-fixtures.js';
import { ScriptedModel, ask, call, say, withPreamble } from '../support/scripted-model.js';
import { decide, sendText, startServer, type TestServer } from '../support/server.js';

/**
 * One delegation twice: to an agent of the same process, whose events are handed over as they are, and to the same agent of
 * another server, whose events go over the wire. The task that delegated keeps and shows the same of both.
 */

const PICTURE = { kind: 'file', bytes: 'iVBORw0KGgo=', mediaType: 'image/png', filename: 'a.png' } as const;
// An agent of another server always speaks from outside, so the tool brings text from outside here too.
const TOOLS: readonly Tool[] = [
  toolNamed('fs_read', { bringsOutside: true, execute: async () => ({ content: 'hi', files: [PICTURE] }) }),
  toolNamed('fs_rm', { danger: () => 'dangerous' }),
];

const modelOf = (isFinal: boolean): ScriptedModel =>
  new ScriptedModel({
    orchestrator: [
      withPreamble('I ask the operator.', call(ask('operator', 'tidy up', isFinal))),
      say('The operator tidied up.'),
    ],
    operator: [
      withPreamble('Let me look.', call(['fs_read', { path: 'a' }])),
      call(['fs_rm', { path: 'a' }]),
      say('It said hi, and it is gone.'),
    ],
  });

interface Seen {
  readonly log: readonly unknown[];
  readonly stream: readonly unknown[];
}

describe('D2 a delegation inside the process and one over the network', () => {
  const open: { stop(): Promise<void> }[] = [];
  const homes: string[] = [];

  afterEach(async () => {
    for (const server of open.splice(0)) await server.stop();
    for (const home of homes.splice(0)) await rm(home, { recursive: true, force: true });
  });

  async function start(options: Parameters<typeof startServer>[0]): Promise<TestServer> {
    const home = await mkdtemp(path.join(tmpdir(), 'lango-both-ways-'));
    homes.push(home);
    const server = await startServer({ ...options, home });
    open.push(server);
    return server;
  }

  async function inside(isFinal: boolean): Promise<Seen> {
    return seenAt(await start({ model: modelOf(isFinal), tools: TOOLS }), true);
  }

  async function overTheNetwork(isFinal: boolean): Promise<Seen> {
    const far = await start({
      model: modelOf(isFinal),
      tools: TOOLS,
      settings: { server: { port: 0 }, a2a: { publish: ['operator'] } },
    });
    const { origin: url, token = '' } = far.address;
    const remoteAgents = [{ name: 'operator', url, token, allowPrivate: true }];
    const a2a = { enabled: true, publish: ['lango-orchestrator'], remoteAgents };
    return seenAt(await start({ model: modelOf(isFinal), settings: { server: { port: 0 }, a2a } }), false);
  }

  async function seenAt(server: TestServer, isInside: boolean): Promise<Seen> {
    const asked = await sendText(server, 'tidy up, please');
    expect(asked.end).toMatchObject({ state: 'input-required', questions: [{ author: 'operator' }] });
    const done = await decide(server, asked, { decision: 'approve' });
    expect(done.end.state).toBe('completed');
    await server.stop();
    const log = await logOf(server.home, asked.taskId);
    // Only in a process of both, entries refer to those of the agent in place of copies.
    expect(log.some(({ body }) => 'from' in body)).toBe(isInside);
    return {
      log: plain(joined(log.map(withoutOrigin))),
      stream: plain(joinedStream([...asked.events, ...done.events])),
    };
  }

  it.each([
    ['whose answer comes back to the orchestrator', false],
    ['whose answer is the answer', true],
  ])('leave the same log and show the same stream: one %s', async (_, isFinal) => {
    const here = await inside(isFinal);
    const there = await overTheNetwork(isFinal);
    expect(there.log).toEqual(here.log);
    expect(there.stream).toEqual(here.stream);
    const types = here.log.map((event) => (event as TaskEvent).body.type);
    expect(types).toEqual(expect.arrayContaining(['activity', 'text-delta', 'artifact', 'question']));
  });
});

async function logOf(home: string, taskId: string): Promise<readonly TaskEvent[]> {
  const name = (await readdir(home)).find((file) => file.endsWith('.db'))!;
  const storage = openSqliteStorage({
    ...{ file: path.join(home, name), synchronous: 'normal', logger: silentLogger },
  });
  try {
    return await storage.tasks.read(taskId, 0, 1_000);
  } finally {
    await storage.close();
  }
}

function withoutOrigin(event: TaskEvent): TaskEvent {
  const { from: _, ...body } = { from: undefined, ...event.body };
  return { ...event, body };
}

/** The events with texts that follow each other joined: how long a piece is depends on the time. */
function joined(log: readonly TaskEvent[]): readonly object[] {
  const whole: TaskEvent[] = [];
  for (const event of log) {
    const last = whole.at(-1);
    const { body } = event;
    if (
      body.type === 'text-delta' &&
      last?.body.type === 'text-delta' &&
      last.author === event.author &&
      last.body.artifactId === body.artifactId &&
      !body.replace
    ) {
      whole[whole.length - 1] = {
        ...last,
        body: { ...last.body, ...body, replace: last.body.replace, text: last.body.text + body.text },
      };
    } else whole.push(event);
  }
  return whole.map(({ author, body }) => ({ author, body }));
}

function joinedStream(events: readonly ClientEvent[]): readonly object[] {
  const whole: ClientEvent[] = [];
  for (const event of events) {
    const last = whole.at(-1);
    if (event.type === 'text-delta' && last?.type === 'text-delta' && !event.replace) {
      whole[whole.length - 1] = { ...last, text: last.text + event.text };
    } else whole.push(event);
  }
  return whole;
}

const ID = /[0-9a-f]{64}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** The same with ids by the order in which they come, and without nodes, codes and times, so that two runs can be compared. */
function plain(events: readonly object[]): readonly unknown[] {
  const names = new Map<string, string>();
  const text = JSON.stringify(events)
    .replace(/"node":"[^"]*"/g, '"node":"node"')
    // The description of a remote agent is another one, so the instruction is too.
    .replace(/"[0-9a-f]{16}"/g, '"HASH"')
    .replace(ID, (id) => {
      if (!names.has(id)) names.set(id, `id ${names.size}`);
      return names.get(id)!;
    })
    .replace(/\b(approve|deny) [0-9A-Z]{4}\b/g, '$1 CODE')
    .replace(/"expiresAt":\d+/g, '"expiresAt":0');
  return JSON.parse(text) as readonly unknown[];
}
