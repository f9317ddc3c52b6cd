import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { built } from '../support/built.js';
import { silentLogger } from '../../src/core/logger.js';
import { textPart } from '../../src/core/message.js';
import { replyPart } from '../../src/core/questions.js';
import type { TaskStore } from '../../src/stores/tasks.js';
import type { TaskEvent, TaskState } from '../../src/core/task.js';
import { isTerminal } from '../../src/core/task.js';
import type { AgentClient, ClientEvent } from '../../src/index.js';
import { connect } from '../../src/index.js';
import { freePort } from '../support/free-port.js';
import { differences, recordOf } from '../support/replayed.js';
import { openSqliteStorage } from '../../src/storage/sqlite/storage.js';

/** Rules 1 to 5 of the journal, tested with a process that is killed again and again during its work. */

/** `npm run campaigns` kills more often; `LANGO_KILLS` sets the number. */
const KILLS = Number(process.env['LANGO_KILLS'] ?? (process.env['LANGO_CAMPAIGN'] === '1' ? 60 : 4));
const SEED = Number(process.env['LANGO_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
/**
 * The ways in which the server is ended: most are kills at work, the others kills during a start, a stop, or a freeze.
 */
const ENDS = ['kill', 'kill', 'kill', 'kill', 'kill', 'kill', 'stop', 'early', 'early', 'freeze'] as const;
/** Every so often the server runs long enough for tasks that are suspected of crashing it (see `SUSPECT_CRASHES`). */
const LIVES_TO_A_LONG_ONE = 40;
const LONG_LIFE_MS = 9_000;
const LONGER_LIFE_MS = 700;
const TOKEN = 'kill-test-90d3c5e8f1b726';
const SENDERS = 8;
const ORCHESTRATOR = 'lango-orchestrator';
const OWNER = { tenant: '', owner: 'default' };

interface Sent {
  readonly taskId: string;
  /** The events that the client saw live, over all kills. */
  readonly seen: Seen;
  readonly state: TaskState;
}

/** The activities besides running text, and each running text as it stands. */
interface Seen {
  readonly acts: string[];
  readonly texts: Record<string, string>;
}

let home: string;
let port: number;
let target: ChildProcess | undefined;
let kills = 0;
const ends = new Map<string, number>();
const startMs: number[] = [];
/** A linear congruential generator: the same seed gives the same kills. */
let state = SEED;
function random(): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
}
const sent: Sent[] = [];
const lost: string[] = [];
/** By task: its final state, and the whole journal as a later client sees it. */
const replays = new Map<string, { readonly state: TaskState; readonly seen: Seen }>();

beforeAll(async () => {
  built('src/index.js');
  home = mkdtempSync(path.join(tmpdir(), 'lango-kill-'));
  mkdirSync(path.join(home, 'stamps'));
  port = await freePort();
  let stop = false;
  const client = connect({ url: `http://127.0.0.1:${port}`, token: TOKEN });
  await start();
  const senders = Array.from({ length: SENDERS }, async (_, sender) => {
    for (let n = 0; !stop; n += 1) await sendOne(client, `${sender}x${n}`);
  });
  while (kills < KILLS) {
    const end = ENDS[Math.floor(random() * ENDS.length)]!;
    ends.set(end, (ends.get(end) ?? 0) + 1);
    const isLong = kills % LIVES_TO_A_LONG_ONE === LIVES_TO_A_LONG_ONE - 1;
    // A slow machine gets longer runs of the server, as the senders would see nothing but restarts.
    const longer = isLong ? LONG_LIFE_MS : sent.length < (3 * kills) / 4 ? LONGER_LIFE_MS : 0;
    await sleep(random() * 500 + longer);
    await endLife(end);
    await start();
  }
  stop = true;
  await Promise.all(senders);
  await settle(client);
  for (const { taskId } of sent) {
    const { state } = await client.get({ taskId });
    replays.set(taskId, { state, seen: await replay(client, taskId) });
  }
  const failed = [...replays.values()].filter(({ state }) => state === 'failed').length;
  console.log(
    `seed ${SEED}: ${kills} ends (${[...ends].map(([end, times]) => `${end} ${times}`).join(', ')}), ` +
      `${sent.length} acknowledged tasks, ${lost.length} lost, ${failed} failed; ` +
      `ready after ${startsWithin(0.5)} ms (p50), ${startsWithin(0.99)} ms (p99)`,
  );
  await stopTarget();
}, 3_600_000);

afterAll(async () => {
  await stopTarget();
  rmSync(home, { recursive: true, force: true });
});

describe(`a server killed ${KILLS} times during multi-agent work`, () => {
  it('loses no acknowledged task, and ends each in exactly one state', async () => {
    expect(kills).toBe(KILLS);
    expect(sent.length).toBeGreaterThan(KILLS / 2);
    expect(lost).toEqual([]);
    expect([...replays].filter(([, { state }]) => state === 'failed')).toEqual([]);
    await withLogs(
      sent.map(({ taskId }) => taskId),
      (events, taskId) => {
        const ends = events.filter(({ body }) => body.type === 'run-end' && isTerminal(body.state));
        expect({ taskId, ends: ends.length, last: events.at(-1)?.body.type }).toEqual({
          taskId,
          ends: 1,
          last: 'run-end',
        });
      },
    );
  });

  it('numbers the events of every task without gaps', async () => {
    await withLogs(await allTasks(), (events) => {
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    });
  });

  it('repeats no completed call, makes an unsafe one at most once and a keyed one exactly once', async () => {
    const strikes = marks('strikes');
    const looks = marks('looks');
    const results = new Map<string, { at: number; tool: string }>();
    const settledAgain: string[] = [];
    await withLogs(await allTasks(), (events, taskId) => {
      const keys = new Map<string, { key: string; tool: string }>();
      const settled = new Set<string>();
      for (const { body, at } of events) {
        if (body.type === 'tool-call') keys.set(body.step, body);
        if (body.type === 'tool-result' && settled.has(body.step))
          settledAgain.push(`${taskId} ${body.step}`);
        if (body.type === 'tool-result') settled.add(body.step);
        const call = body.type === 'tool-result' && !body.result.isError ? keys.get(body.step) : undefined;
        // Only the first result counts: no later call of the same key may follow it.
        if (call && !results.has(call.key)) results.set(call.key, { at, tool: call.tool });
      }
    });
    expect(results.size).toBeGreaterThan(KILLS / 2);
    expect(settledAgain).toEqual([]);
    const again = [...strikes].filter(([, times]) => times.length > 1);
    expect(again).toEqual([]);
    const stamps = new Set(readdirSync(path.join(home, 'stamps')));
    for (const [key, { at, tool }] of results) {
      if (tool === 'exec_strike') expect(strikes.get(key)).toHaveLength(1);
      if (tool === 'fs_stamp') expect(stamps.has(key)).toBe(true);
      if (tool === 'search_look') expect(looks.get(key)?.filter((time) => time > at) ?? []).toEqual([]);
    }
  });

  it("makes one child task for each delegation, whose result is the parent's", async () => {
    const parents = new Map<string, number>();
    const delegations = new Map<string, number>();
    const storage = openStorage();
    const store = storage.tasks;
    try {
      for (const agent of ['operator', 'librarian']) {
        for (const task of await listAll(store, agent)) {
          parents.set(task.parentTaskId!, (parents.get(task.parentTaskId!) ?? 0) + 1);
        }
      }
      for (const { taskId } of sent) {
        const events = await store.read(taskId, 0, 10_000);
        const started = events.filter(({ body }) => body.type === 'delegation-start').length;
        if (started > 0) delegations.set(taskId, started);
      }
    } finally {
      await storage.close();
    }
    const reached = [...delegations].map(([taskId]) => [taskId, parents.get(taskId) ?? 0] as const);
    // A delegation that was canceled before its peer received it has no child task; none has two.
    for (const [taskId, children] of reached) expect(children).toBeLessThanOrEqual(delegations.get(taskId)!);
    expect(reached.reduce((sum, [, children]) => sum + children, 0)).toBeGreaterThan(KILLS / 2);
  });

  it('leaves tasks that replay identically, event for event', async () => {
    const ids = await allTasks();
    const storage = openStorage();
    try {
      const tasks = await Promise.all(ids.map((id) => recordOf(storage.tasks, { ...OWNER, id })));
      const { replayed, found } = await differences(tasks);
      console.log(`${replayed} of ${ids.length} tasks replayed, ${found.length} differ`);
      expect(found).toEqual([]);
      expect(replayed).toBeGreaterThan(KILLS);
    } finally {
      await storage.close();
    }
  });

  it('shows a client that was cut off and resumed with its cursor every event, once and in order', () => {
    let whole = 0;
    for (const { taskId, seen, state } of sent) {
      const end = replays.get(taskId)!;
      // A client that left with a question, or that gave up while the server was down, saw the earlier events.
      const stayed = isTerminal(state) && state === end.state;
      const acts = stayed ? end.seen.acts : end.seen.acts.slice(0, seen.acts.length);
      expect({ taskId, acts: seen.acts }).toEqual({ taskId, acts });
      if (!stayed) continue;
      expect({ taskId, texts: seen.texts }).toEqual({ taskId, texts: end.seen.texts });
      whole += 1;
    }
    expect(whole).toBeGreaterThan(KILLS / 4);
  });
});

async function sendOne(client: AgentClient, name: string): Promise<void> {
  const texts = [
    `stamp a${name} and then look up b${name} and then strike c${name}`,
    `stamp a${name} and at the same time look up b${name}`,
    `strike a${name} and then strike b${name}`,
  ];
  const parts = [textPart(texts[Number(name.split('x')[1]) % texts.length]!)];
  const seen: Seen = { acts: [], texts: {} };
  let taskId = '';
  let state: TaskState = 'failed';
  for await (const event of client.send({ parts }, AbortSignal.timeout(120_000))) {
    if (event.type === 'task') taskId = event.taskId;
    note(seen, event);
    if (event.type === 'end') state = event.state;
  }
  if (taskId !== '') sent.push({ taskId, seen, state });
}

function note({ acts, texts }: Seen, event: ClientEvent): void {
  const { text, id, replace } =
    event.type === 'text-delta'
      ? { ...event, id: event.artifactId }
      : event.type === 'activity' && event.activity.type === 'text'
        ? event.activity
        : {};
  if (id !== undefined && text !== undefined) texts[id] = replace ? text : (texts[id] ?? '') + text;
  else if (event.type === 'activity') acts.push(JSON.stringify(event));
}

async function replay(client: AgentClient, taskId: string): Promise<Seen> {
  const seen: Seen = { acts: [], texts: {} };
  for await (const event of client.subscribe({ taskId, after: 0 }, AbortSignal.timeout(100_000))) {
    note(seen, event);
  }
  return seen;
}

/** Lets the server finish everything. Replies "do not repeat" to questions about unknown outcomes. */
async function settle(client: AgentClient): Promise<void> {
  for (const { taskId } of sent) {
    for (let round = 0; ; round += 1) {
      const task = await client.get({ taskId }).catch(() => undefined);
      if (!task || round > 20) {
        lost.push(taskId);
        break;
      }
      if (isTerminal(task.state)) break;
      const parts = task.questions.map(({ hash }) => replyPart({ hash, decision: 'deny' }));
      const events =
        parts.length > 0
          ? client.send({ parts, taskId, contextId: task.contextId }, AbortSignal.timeout(100_000))
          : client.subscribe({ taskId }, AbortSignal.timeout(100_000));
      for await (const event of events) if (event.type === 'end') break;
    }
  }
}

async function start(): Promise<void> {
  const began = performance.now();
  const child = spawnTarget();
  await Promise.race([
    once(child.stdout!, 'data'),
    once(child, 'exit').then(([code]) =>
      Promise.reject(new Error(`the server did not start: ${String(code)}`)),
    ),
  ]);
  startMs.push(performance.now() - began);
}

/**
 * The time within which the part `share` of the starts was ready, in milliseconds. Tasks continue before a server is
 * ready.
 */
function startsWithin(share: number): number {
  return Math.round(startMs.toSorted((a, b) => a - b)[Math.floor(share * (startMs.length - 1))]!);
}

function spawnTarget(): ChildProcess {
  const child = spawn(
    process.execPath,
    ['--no-warnings', 'test/support/kill-target.ts', home, String(port), TOKEN],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  target = child;
  return child;
}

async function endLife(end: (typeof ENDS)[number]): Promise<void> {
  if (end === 'freeze') {
    target!.kill('SIGSTOP');
    await sleep(random() * 500);
    target!.kill('SIGCONT');
  }
  await endWith(end === 'stop' ? 'SIGTERM' : 'SIGKILL');
  kills += 1;
  if (end !== 'early') return;
  // One more start, killed at a random moment.
  spawnTarget();
  await sleep(random() * 600);
  await endWith('SIGKILL');
}

async function endWith(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  const child = target!;
  child.kill(signal);
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

async function stopTarget(): Promise<void> {
  if (!target || target.exitCode !== null || target.signalCode !== null) return;
  target.kill('SIGKILL');
  await once(target, 'exit');
}

function openStorage() {
  return openSqliteStorage({
    file: path.join(home, 'lango.db'),
    synchronous: 'normal',
    logger: silentLogger,
  });
}

async function listAll(store: TaskStore, agent: string) {
  const tasks = [];
  for (let pageToken: string | undefined; pageToken !== '';) {
    const page = await store.list(OWNER, { agent, pageSize: 100, ...(pageToken ? { pageToken } : {}) });
    tasks.push(...page.tasks);
    pageToken = page.nextPageToken;
  }
  return tasks;
}

async function allTasks(): Promise<readonly string[]> {
  const storage = openStorage();
  const store = storage.tasks;
  try {
    const lists = await Promise.all(
      [ORCHESTRATOR, 'operator', 'librarian'].map((agent) => listAll(store, agent)),
    );
    return lists.flat().map(({ id }) => id);
  } finally {
    await storage.close();
  }
}

async function withLogs(
  taskIds: readonly string[],
  check: (events: readonly TaskEvent[], taskId: string) => void,
): Promise<void> {
  const storage = openStorage();
  const store = storage.tasks;
  try {
    for (const taskId of taskIds) check(await store.read(taskId, 0, 10_000), taskId);
  } finally {
    await storage.close();
  }
}

/** The times at which each key was marked. */
function marks(file: string): ReadonlyMap<string, readonly number[]> {
  const full = path.join(home, file);
  const times = new Map<string, number[]>();
  for (const line of existsSync(full) ? readFileSync(full, 'utf8').trim().split('\n') : []) {
    const [key, time] = line.split(' ');
    times.set(key!, [...(times.get(key!) ?? []), Number(time)]);
  }
  return times;
}
