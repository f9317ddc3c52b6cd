import { request, type ClientRequest } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SettingsInput } from '../../src/index.js';
import { cases, faultIn, type Case, type Outcome, type Scene } from './corpus.js';
import { onCall } from './corpora.js';
import { sign, withPersons } from './persons.js';
import { cardAt, give, type Stranger } from './stranger.js';

/** One caller takes all that the server has, and another one then asks for little. */

const MIB = 1024 * 1024;
/** The other caller is answered in this time, on a busy machine too. */
const PATIENCE_MS = 10_000;
/** From so many on, one caller leaves some free by default. */
const RUNS = 8;

export const withCrowds = (stranger: Stranger): SettingsInput => {
  const remote = { name: 'stranger', url: stranger.url, allowPrivate: true, owners: 'shared' as const };
  return {
    ...withPersons(stranger),
    a2a: { enabled: true, remoteAgents: [remote], idleSeconds: 60 },
    server: { port: 0, limits: { bytesInFlight: 8 * MIB, concurrentRuns: RUNS } },
  };
};

interface Body {
  /** Connections that each send one body. */
  readonly connections: number;
  readonly mib: number;
  /** The part of it that each sends before it waits. */
  readonly part: number;
  /** Whether the length is not declared. */
  readonly chunked: boolean;
  readonly path: string;
}

/** It takes files of tasks, up to 16 MiB. */
const FILES = '/lango/tasks';
const PATHS = ['/message:send', '/', '/message:stream', FILES];

/** Bodies of which one caller sends a part and then waits, over many connections. */
export function bodiesInFlight(): readonly Case[] {
  const alone: Body = { connections: 0, mib: 1, part: 0, chunked: false, path: '/message:send' };
  const files: Body = { connections: 100, mib: 8, part: 0.99, chunked: true, path: FILES };
  return [
    { name: 'nobody else', isRight: true, act: (scene) => holdBodies(scene, alone) },
    { name: 'large files', act: (scene) => holdBodies(scene, files) },
    ...cases(
      12,
      (random) => {
        const path = random.pick(PATHS);
        const mib = path === FILES ? random.pick([1, 8]) : 1;
        const connections = random.pick([40, 120, 240]);
        const about = { connections: Math.ceil(connections / mib), mib, path };
        return { ...about, part: random.pick([0, 0.01, 0.5, 0.99]), chunked: random.chance(50) };
      },
      holdBodies,
    ),
  ];
}

async function holdBodies(scene: Scene, { connections, mib, part, chunked, path }: Body): Promise<Outcome> {
  const { stage } = scene;
  const authorization = `Bearer ${await sign({ sub: 'mallory' })}`;
  const body = JSON.stringify({
    message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x'.repeat(mib * MIB - 200) }] },
  });
  const headers = {
    ...{ authorization, 'content-type': 'application/json' },
    ...(chunked ? {} : { 'content-length': Buffer.byteLength(body) }),
  };
  const open = Array.from({ length: connections }, (): ClientRequest => {
    const sent = request(stage.origin + path, { method: 'POST', agent: false, headers });
    sent.on('error', () => {}).on('response', (response) => void text(response).catch(() => ''));
    sent.write(body.slice(0, Math.max(1, Math.round(body.length * part))));
    return sent;
  });
  try {
    // The other caller comes once these are on their way.
    if (connections > 0) await sleep(300);
    return await askAsAlice(scene);
  } finally {
    for (const sent of open) sent.destroy();
  }
}

/** Tasks of one caller that never end, because the agent that they ask does not answer. */
export function hangingRuns(): readonly Case[] {
  return [
    { name: 'nobody else', isRight: true, act: (scene) => holdRuns(scene, 0) },
    ...[RUNS, RUNS + 1, 3 * RUNS, 10 * RUNS].map((count): Case => ({
      name: `${count} tasks that hang`,
      act: (scene) => holdRuns(scene, count),
    })),
  ];
}

async function holdRuns(scene: Scene, count: number): Promise<Outcome> {
  const { stage, stranger } = scene;
  stranger.answer = (asked, response) => {
    if (asked.method === 'GET') give(response, cardAt(stranger.url));
    else onCall(asked, () => {});
  };
  const authorization = `Bearer ${await sign({ sub: 'mallory' })}`;
  const ids: string[] = [];
  for (let number = 0; number < count; number += 1) {
    const message = {
      messageId: crypto.randomUUID(),
      role: 'ROLE_USER',
      parts: [{ text: 'ask stranger to help' }],
    };
    const response = await stage.fetch('/message:send', {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ message, configuration: { returnImmediately: true } }),
    });
    if (response.ok) ids.push(((await response.json()) as { task: { id: string } }).task.id);
  }
  try {
    return await askAsAlice(scene);
  } finally {
    const cancel = (id: string) =>
      stage.fetch(`/tasks/${id}:cancel`, { method: 'POST', headers: { authorization } });
    await Promise.all(ids.map(cancel));
    stranger.cut();
  }
}

/** Another caller says hello, again where the server asks for it. */
async function askAsAlice({ stage }: Scene): Promise<Outcome> {
  const authorization = `Bearer ${await sign({ sub: 'alice' })}`;
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'hello' }] };
  const signal = AbortSignal.timeout(PATIENCE_MS);
  try {
    const response = await stage.fetch('/message:send', {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ message }),
      signal,
    });
    const said = await response.text();
    const fault = faultIn(said);
    if (fault !== undefined) return { finding: `the answer holds "${fault}"` };
    if (response.ok && said.includes('TASK_STATE_COMPLETED')) return 'taken';
    return { finding: `the other caller got ${response.status}: ${said.slice(0, 200)}` };
  } catch {
    return { finding: `the other caller got nothing in ${PATIENCE_MS / 1_000} s` };
  }
}
