import { ATTACKS } from './attacks.js';
import { Ledger } from './ledger.js';
import { Random } from './random.js';
import { StolenTime } from './stolen-time.js';
import type { Outcome, Target } from './target.js';

export interface CampaignOptions {
  readonly seed: number;
  /** It ends after this time or this many requests, whichever comes first. */
  readonly seconds: number;
  readonly requests: number;
  /** An answer that takes longer is a finding; what the machine stole of the time does not count. */
  readonly slowMs: number;
}

const PARALLEL = 8;
/** Of gRPC, what HTTP says with 500; and no answer at all. */
const SERVER_FAULTS: readonly unknown[] = ['UNKNOWN', 'INTERNAL', 'DATA_LOSS', 'silent'];
/** Where the library itself says INTERNAL of a broken call, as libraries of gRPC do; we are not asked. */
const NOT_OURS = /^Invalid grpc-timeout|^Failed to decompress message/;

/** Shots at one target, and what is to be said of their answers. */
export class Campaign {
  readonly ledger = new Ledger();
  readonly transports: Record<string, number> = {};
  readonly statuses: Record<string, number> = {};
  readonly findings: string[] = [];
  requests = 0;
  slowestMs = 0;
  stolenMs = 0;
  readonly #options: CampaignOptions;
  readonly #target: Target;
  readonly #random: Random;
  readonly #deadline: number;

  constructor(options: CampaignOptions, target: Target) {
    this.#options = options;
    this.#target = target;
    this.#random = new Random(options.seed);
    this.#deadline = performance.now() + options.seconds * 1_000;
  }

  /** One shot of each kind, which nothing is said of: code is loaded and compiled here. */
  async warmUp(): Promise<void> {
    for (const attack of Object.values(ATTACKS)) this.ledger.note(await attack(this.#random, this.#target));
  }

  /** Goes on until so many requests were made in all, or the time is over. */
  async run(requests: number): Promise<void> {
    using stolen = new StolenTime();
    const worker = async (): Promise<void> => {
      while (this.requests < requests && performance.now() < this.#deadline) await this.#shoot(stolen);
    };
    await Promise.all(Array.from({ length: PARALLEL }, worker));
    this.stolenMs += stolen.ms;
  }

  async #shoot(stolen: StolenTime): Promise<void> {
    this.requests += 1;
    const name = this.#random.pick(Object.keys(ATTACKS));
    const shot = `${name} #${this.requests}`;
    this.transports[name] = (this.transports[name] ?? 0) + 1;
    const begun = performance.now() - stolen.ms;
    try {
      const outcome = await ATTACKS[name]!(this.#random, this.#target);
      this.#judge(shot, outcome, performance.now() - stolen.ms - begun);
      this.ledger.note(outcome);
    } catch (error) {
      this.findings.push(`${shot}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  #judge(shot: string, { status, text, request }: Outcome, ms: number): void {
    this.statuses[status] = (this.statuses[status] ?? 0) + 1;
    const isFault =
      typeof status === 'number'
        ? status >= 500 && status !== 503
        : SERVER_FAULTS.includes(status) && !NOT_OURS.test(text);
    const find = (what: string): void => void this.findings.push(`${shot}: ${what} to ${request}`);
    if (isFault) find(`${status} ${text.slice(0, 200)}`);
    if (/<html/i.test(text)) find('an answer in HTML');
    if (/\n\s+at .+:\d+:\d+/.test(text)) find('a stack in the answer');
    this.slowestMs = Math.max(this.slowestMs, ms);
    if (ms > this.#options.slowMs) find(`an answer after ${Math.round(ms)} ms`);
  }
}
