import { describeHolds, type Hold, isTooLong, Watchdog } from '../../watchdog.js';
import { ATTACKS, RARE } from './attacks.js';
import { Ledger } from './ledger.js';
import { Random } from './random.js';
import { StolenTime } from './stolen-time.js';
import type { Outcome, Target } from './target.js';

export interface CampaignOptions {
  readonly seed: number;
  /** The campaign ends after this time or this many requests, whichever comes first. */
  readonly seconds: number;
  readonly requests: number;
  /** A response that takes longer is a finding, not counting the time in which the machine stopped the process. */
  readonly slowMs: number;
}

const PARALLEL = 8;
/** The most requests that are sent again because they may have blocked the event loop. */
const MOST_SUSPECTS = 40;
/** The chance that a picked rare attack is sent, in percent. */
const RARITY = 10;
/** The gRPC statuses that mean the same as HTTP 500, and no response at all. */
const SERVER_FAULTS: readonly unknown[] = ['UNKNOWN', 'INTERNAL', 'DATA_LOSS', 'silent'];
/** Malformed calls to which the gRPC library itself responds with INTERNAL. */
const NOT_OURS = /^Invalid grpc-timeout|^Failed to decompress message/;

/** The data to send a request again. */
interface Shot {
  readonly name: string;
  readonly seed: number;
}

interface Suspect {
  readonly shot: Shot;
  readonly hold: Hold;
}

/** Sends requests to one target and checks the responses. */
export class Campaign {
  readonly ledger = new Ledger();
  readonly transports: Record<string, number> = {};
  readonly statuses: Record<string, number> = {};
  readonly findings: string[] = [];
  requests = 0;
  slowestMs = 0;
  longestWorkMs = 0;
  stolenMs = 0;
  readonly #options: CampaignOptions;
  readonly #target: Target;
  readonly #random: Random;
  /** The open requests, by number. */
  readonly #underWay = new Map<number, Shot>();
  readonly #suspects = new Map<number, Suspect>();
  readonly #deadline: number;

  constructor(options: CampaignOptions, target: Target) {
    this.#options = options;
    this.#target = target;
    this.#random = new Random(options.seed);
    this.#deadline = performance.now() + options.seconds * 1_000;
  }

  /** Sends one request of each kind without checking it, so that the code is loaded and compiled. */
  async warmUp(): Promise<void> {
    for (const name of Object.keys(ATTACKS)) await this.#fire({ name, seed: this.#random.below(2 ** 32) });
  }

  /** Continues until this total number of requests was made, or the time is over. */
  async run(requests: number): Promise<void> {
    using stolen = new StolenTime();
    using dog = new Watchdog();
    const worker = async (): Promise<void> => {
      while (this.requests < requests && performance.now() < this.#deadline) {
        const number = await this.#shoot(stolen);
        this.#suspect(dog.take());
        this.#underWay.delete(number);
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, worker));
    this.stolenMs += stolen.ms;
    await this.#acquit(dog);
  }

  async #shoot(stolen: StolenTime): Promise<number> {
    const number = (this.requests += 1);
    const shot = { name: this.#pick(), seed: this.#random.below(2 ** 32) };
    const label = `${shot.name} #${number}`;
    this.transports[shot.name] = (this.transports[shot.name] ?? 0) + 1;
    this.#underWay.set(number, shot);
    const begun = performance.now() - stolen.ms;
    try {
      const outcome = await this.#fire(shot);
      this.#judge(label, outcome, performance.now() - stolen.ms - begun);
    } catch (error) {
      this.findings.push(`${label}: ${error instanceof Error ? error.message : String(error)}`);
    }
    return number;
  }

  #pick(): string {
    const name = this.#random.pick(Object.keys(ATTACKS));
    return RARE.has(name) && !this.#random.chance(RARITY) ? this.#pick() : name;
  }

  async #fire({ name, seed }: Shot): Promise<Outcome> {
    const outcome = await ATTACKS[name]!(new Random(seed), this.#target);
    if (!outcome.isElsewhere) this.ledger.note(outcome);
    return outcome;
  }

  /** Every open request may have blocked the event loop. */
  #suspect(hold: Hold): void {
    this.longestWorkMs = Math.max(this.longestWorkMs, hold.workMs);
    if (!isTooLong(hold)) return;
    for (const [number, shot] of this.#underWay) {
      if (this.#suspects.size < MOST_SUSPECTS) this.#suspects.set(number, { shot, hold });
    }
  }

  /** Sends each suspected request twice alone. One that blocks the event loop both times is a finding. */
  async #acquit(dog: Watchdog): Promise<void> {
    for (const [number, { shot, hold }] of this.#suspects) {
      let again = hold;
      for (let tries = 0; tries < 2 && isTooLong(again); tries += 1) {
        dog.take();
        await this.#fire(shot).catch(() => undefined);
        again = dog.take();
      }
      if (isTooLong(again)) this.findings.push(`${shot.name} #${number}: ${describeHolds(hold, again)}`);
    }
    this.#suspects.clear();
  }

  #judge(shot: string, { status, text, request, finding, mayBeSlow }: Outcome, ms: number): void {
    this.statuses[status] = (this.statuses[status] ?? 0) + 1;
    const isFault =
      typeof status === 'number'
        ? status >= 500 && status !== 503
        : SERVER_FAULTS.includes(status) && !NOT_OURS.test(text);
    const find = (what: string): void => void this.findings.push(`${shot}: ${what} to ${request}`);
    if (finding !== undefined) find(`${finding}; in answer`);
    if (isFault) find(`${status} ${text.slice(0, 200)}`);
    if (/<html/i.test(text)) find('an answer in HTML');
    if (/\n\s+at .+:\d+:\d+/.test(text)) find('a stack in the answer');
    if (mayBeSlow) return;
    this.slowestMs = Math.max(this.slowestMs, ms);
    if (ms > this.#options.slowMs) find(`an answer after ${Math.round(ms)} ms`);
  }
}
