import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createServer } from '../../src/index.js';
import type { Outcome, Target } from './attacks.js';
import { ATTACKS } from './attacks.js';
import { Random } from './random.js';

export interface FuzzOptions {
  readonly seed: number;
  /** It ends after this time or this many requests, whichever comes first. */
  readonly seconds: number;
  readonly requests: number;
  /** An answer that takes longer is a finding. */
  readonly slowMs: number;
}

export interface FuzzFigures {
  readonly seed: number;
  readonly requests: number;
  /** How often each transport was asked. */
  readonly transports: Readonly<Record<string, number>>;
  readonly statuses: Readonly<Record<string, number>>;
  readonly slowestMs: number;
  readonly memoryMb: { readonly before: number; readonly after: number };
  /** Tasks that were answered with, and tasks that are stored: no refused request may leave one. */
  readonly tasks: { readonly answered: number; readonly stored: number };
  /** What must not happen; empty when all is well. */
  readonly findings: readonly string[];
}

const MEMORY_SLACK_MB = 40;
const MAX_FINDINGS = 20;
const PARALLEL = 8;
const PLENTY = 1_000_000;

/** Asks a server of its own, over loopback, for all kinds of trouble. */
export async function fuzz(options: FuzzOptions): Promise<FuzzFigures> {
  const home = await mkdtemp(path.join(tmpdir(), 'lango-fuzz-'));
  const limits = {
    requestsPerSecond: PLENTY,
    requestBurst: PLENTY,
    anonymousPerSecond: PLENTY,
    anonymousBurst: PLENTY,
  };
  const server = createServer({
    home,
    settings: {
      server: { port: 0, limits },
      storage: { sqlite: { file: ':memory:' } },
      tools: { fs: { enabled: false }, exec: { enabled: false } },
    },
  });
  const { origin, port, token = '' } = await server.start();
  const rejections: string[] = [];
  const onRejection = (reason: unknown): void =>
    void rejections.push(`unhandled rejection: ${String(reason)}`);
  process.on('unhandledRejection', onRejection);
  try {
    const target = { origin, port, token, taskId: await firstTask(origin, token) };
    const campaign = new Campaign(options, target);
    // What is made once (caches, compiled code) does not count as lost.
    await campaign.run(options.requests / 10);
    const before = heapMb();
    await campaign.run(options.requests);
    return await campaign.figures({ before, rejections });
  } finally {
    process.off('unhandledRejection', onRejection);
    await server.stop();
    await rm(home, { recursive: true, force: true });
  }
}

class Campaign {
  readonly #options: FuzzOptions;
  readonly #target: Target;
  readonly #random: Random;
  readonly #deadline: number;
  readonly #transports: Record<string, number> = {};
  readonly #statuses: Record<string, number> = {};
  readonly #taskIds = new Set<string>();
  readonly #findings: string[] = [];
  #requests = 0;
  #slowestMs = 0;

  constructor(options: FuzzOptions, target: Target) {
    this.#options = options;
    this.#target = target;
    this.#random = new Random(options.seed);
    this.#deadline = performance.now() + options.seconds * 1_000;
    this.#taskIds.add(target.taskId);
  }

  /** Goes on until so many requests were made in all, or the time is over. */
  async run(requests: number): Promise<void> {
    const worker = async (): Promise<void> => {
      while (this.#requests < requests && performance.now() < this.#deadline) await this.#shoot();
    };
    await Promise.all(Array.from({ length: PARALLEL }, worker));
  }

  async #shoot(): Promise<void> {
    this.#requests += 1;
    const name = this.#random.pick(Object.keys(ATTACKS));
    const number = this.#requests;
    this.#transports[name] = (this.#transports[name] ?? 0) + 1;
    const begun = performance.now();
    try {
      const outcome = await ATTACKS[name]!(this.#random, this.#target);
      this.#judge(`${name} #${number}`, outcome);
    } catch (error) {
      this.#find(`${name} #${number}: ${error instanceof Error ? error.message : String(error)}`);
    }
    const ms = performance.now() - begun;
    this.#slowestMs = Math.max(this.#slowestMs, ms);
    if (ms > this.#options.slowMs) this.#find(`${name} #${number} took ${Math.round(ms)} ms`);
  }

  #judge(shot: string, { status, text }: Outcome): void {
    this.#statuses[status] = (this.#statuses[status] ?? 0) + 1;
    if (typeof status === 'number' && status >= 500 && status !== 503)
      this.#find(`${shot}: ${status} ${text.slice(0, 200)}`);
    if (/<html/i.test(text)) this.#find(`${shot}: an answer in HTML`);
    if (/\n\s+at .+:\d+:\d+/.test(text)) this.#find(`${shot}: a stack in the answer`);
    for (const [, id] of text.matchAll(/"task":\{"id":"([^"]+)"/g)) this.#taskIds.add(id!);
  }

  #find(finding: string): void {
    if (this.#findings.length < MAX_FINDINGS) this.#findings.push(finding);
  }

  async figures(seen: {
    readonly before: number;
    readonly rejections: readonly string[];
  }): Promise<FuzzFigures> {
    const { origin, token } = this.#target;
    const list = await fetch(`${origin}/tasks?pageSize=1`, { headers: { authorization: `Bearer ${token}` } });
    const { totalSize } = (await list.json()) as { totalSize: number };
    const after = heapMb();
    const findings = [...this.#findings, ...seen.rejections];
    if (after > seen.before + MEMORY_SLACK_MB)
      findings.push(`memory grew from ${seen.before} to ${after} MB`);
    return {
      seed: this.#options.seed,
      requests: this.#requests,
      transports: this.#transports,
      statuses: this.#statuses,
      slowestMs: Math.round(this.#slowestMs),
      memoryMb: { before: seen.before, after },
      tasks: { answered: this.#taskIds.size, stored: totalSize },
      findings,
    };
  }
}

async function firstTask(origin: string, token: string): Promise<string> {
  const response = await fetch(`${origin}/message:send`, {
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
