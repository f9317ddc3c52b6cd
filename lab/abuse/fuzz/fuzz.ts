import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { ServerOptions } from '../../../src/index.js';
import { createServer } from '../../../src/index.js';
import type { Agent } from '../../../src/core/agent.js';
import type { CampaignOptions } from './campaign.js';
import { Campaign } from './campaign.js';
import { startOwners } from './owners.js';
import { startPeer } from './peer.js';
import { NOBODY } from './requests.js';
import { readJson, storedTasks } from './stored.js';
import type { Target } from './target.js';

export interface FuzzFigures {
  readonly seed: number;
  readonly requests: number;
  /** The number of requests by kind of attack. */
  readonly transports: Readonly<Record<string, number>>;
  readonly statuses: Readonly<Record<string, number>>;
  /** Without the time in which the machine stopped the process. */
  readonly slowestMs: number;
  /** The longest uninterrupted work of the event loop, which the server and the fuzzer share. */
  readonly longestWorkMs: number;
  /** The total time in which the machine stopped this process. */
  readonly stolenMs: number;
  readonly memoryMb: { readonly before: number; readonly after: number };
  /** Tasks named in responses, stored tasks, and the messages sent to them. */
  readonly tasks: { readonly told: number; readonly stored: number; readonly messages: number };
  /** The findings. Empty when there are none. */
  readonly findings: readonly string[];
}

const MEMORY_SLACK_MB = 40;
const MAX_FINDINGS = 20;
const PLENTY = 1_000_000;
const LIMITS = {
  requestsPerSecond: PLENTY,
  requestBurst: PLENTY,
  anonymousPerSecond: PLENTY,
  anonymousBurst: PLENTY,
};
const SETTINGS: ServerOptions['settings'] = {
  server: { port: 0, limits: { ...LIMITS, bodySeconds: 2 }, grpc: { enabled: true, port: 0 } },
  storage: { sqlite: { file: ':memory:' } },
  parsing: { timeoutSeconds: 1 },
  egress: { allowPrivate: [NOBODY] },
  tools: { fs: { enabled: false }, exec: { enabled: false } },
};

/** An agent whose tasks wait for a next message, so that there is always a task that accepts one. */
const ASKING: Agent = {
  profile: { name: 'asking', description: 'Asks.', skills: [] },
  run: async () => ({ state: 'input-required', text: 'And then?' }),
};

/** Sends all kinds of attacks to its own server over loopback. */
export async function fuzz(options: CampaignOptions): Promise<FuzzFigures> {
  const home = await mkdtemp(path.join(tmpdir(), 'lango-fuzz-'));
  await using peer = await startPeer();
  const remoteAgents = [{ name: 'stranger', url: peer.url, allowPrivate: true }];
  const settings = { ...SETTINGS, a2a: { enabled: true, remoteAgents } };
  const server = createServer({ home, settings, agents: [ASKING] });
  const { origin, port, grpcPort = 0, token = '', agents, root } = await server.start();
  const { owners, server: shared } = await startOwners(home, {
    ...SETTINGS,
    server: { port: 0, limits: LIMITS },
  });
  const rejections: string[] = [];
  const onRejection = (reason: unknown): void =>
    void rejections.push(`unhandled rejection: ${String(reason)}`);
  process.on('unhandledRejection', onRejection);
  try {
    const taskId = await firstTask(origin, token);
    const { name } = ASKING.profile;
    const asking = { agent: name, taskId: await firstTask(`${origin}/agents/${name}`, token) };
    const target: Target = { origin, port, grpcPort, token, agents, root, taskId, asking, owners };
    const ended = await readJson(target, `/tasks/${taskId}`);
    const campaign = new Campaign(options, target);
    for (const path of [`/tasks/${taskId}`, `/agents/${name}/tasks/${asking.taskId}`])
      campaign.ledger.note({ status: 200, text: JSON.stringify(await readJson(target, path)), sent: '' });
    await campaign.warmUp();
    // Memory that is used once (caches, compiled code) is no leak.
    await campaign.run(options.requests / 10);
    const before = heapMb();
    await campaign.run(options.requests);
    const stored = await storedTasks(target);
    const after = heapMb();
    const findings = [...campaign.findings, ...rejections, ...campaign.ledger.compare(stored)];
    if (after > before + MEMORY_SLACK_MB) findings.push(`memory grew from ${before} to ${after} MB`);
    if (JSON.stringify(await readJson(target, `/tasks/${taskId}`)) !== JSON.stringify(ended))
      findings.push('a task that had ended was changed');
    const { requests, transports, statuses, slowestMs, longestWorkMs, stolenMs, ledger } = campaign;
    return {
      seed: options.seed,
      requests,
      transports,
      statuses,
      slowestMs: Math.round(slowestMs),
      longestWorkMs: Math.round(longestWorkMs),
      stolenMs: Math.round(stolenMs),
      memoryMb: { before, after },
      tasks: {
        told: ledger.told,
        stored: stored.length,
        messages: stored.reduce((sum, { messageIds }) => sum + messageIds.length, 0),
      },
      findings: findings.slice(0, MAX_FINDINGS),
    };
  } finally {
    process.off('unhandledRejection', onRejection);
    await Promise.all([server.stop(), shared.stop()]);
    await rm(home, { recursive: true, force: true });
  }
}

async function firstTask(agentUrl: string, token: string): Promise<string> {
  const response = await fetch(`${agentUrl}/message:send`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ message: { messageId: 'first', role: 'ROLE_USER', parts: [{ text: 'hello' }] } }),
  });
  return ((await response.json()) as { task: { id: string } }).task.id;
}

function heapMb(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return Math.round(process.memoryUsage().heapUsed / 1024 / 1024);
}
