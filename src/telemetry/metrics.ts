import { BlockList, isIPv6 } from 'node:net';
import { LangoError, loadPackage } from '../core/errors.js';
import type { HttpExchange } from '../core/http.js';
import type { Audit, AuditEntry, Caller } from '../core/identity.js';
import type { OpenTaskCount, TaskStore } from '../stores/tasks.js';
import { Instruments } from './instruments.js';
import { observeStore } from './task-meter.js';

/** The sources that each scrape reads. */
export interface MetricSources {
  readonly openTasks: () => Promise<readonly OpenTaskCount[]>; // The unfinished tasks of all owners.
  readonly peers: () => readonly { readonly name: string; readonly state: string }[];
  readonly pushes: () => Promise<Readonly<Record<string, number>> | undefined>;
  readonly streams: () => number;
}

export interface MetricsOptions {
  readonly allowFrom: readonly string[]; // Addresses and networks that read the metrics without a token.
  readonly isToken: (given: string) => boolean; // Whether a bearer token is the one for metrics alone.
  readonly mayRead: (caller: Caller) => boolean; // Whether a caller with a token may read them.
}

/** Rejects with `not-supported` without the package `prom-client`. */
export async function openMetrics(options: MetricsOptions): Promise<Metrics> {
  const client = await loadPackage('prom-client', () => import('prom-client'));
  return new Metrics(new Instruments(client), options);
}

/** The metrics of this node. Events are counted as they happen, at the borders; states are read at each scrape. */
export class Metrics {
  readonly #instruments: Instruments;
  readonly #options: MetricsOptions;
  readonly #allowed: BlockList;
  #sources: Partial<MetricSources> = {};

  constructor(instruments: Instruments, options: MetricsOptions) {
    this.#instruments = instruments;
    this.#options = options;
    this.#allowed = networks(options.allowFrom);
  }

  /** Adds sources. A part of the node that does not run adds none, so its metrics stay empty. */
  addSources(sources: Partial<MetricSources>): void {
    this.#sources = { ...this.#sources, ...sources };
  }

  /** Returns the store with a listener on what this node appends. */
  observeStore(store: TaskStore): TaskStore {
    return observeStore(store, this.#instruments);
  }

  /** Returns the audit log with a count of the operations on all transports. */
  observeAudit(audit: Audit): Audit {
    return (entry: AuditEntry) => {
      const { operation, agent = '', outcome } = entry;
      this.#instruments.count('operations', { operation, agent, outcome });
      audit(entry);
    };
  }

  recordResponse({ method, status, ms }: Readonly<{ method: string; status: number; ms: number }>): void {
    this.#instruments.count('httpRequests', { method, status: String(status) });
    this.#instruments.time('httpSeconds', { method }, ms);
  }

  /** Responds to a scrape. Rejects with `unauthenticated` or `forbidden`. */
  async respond(exchange: HttpExchange): Promise<void> {
    const isKnown = this.#isAllowed(exchange.address) || this.#hasToken(exchange);
    if (!isKnown && !this.#options.mayRead(await exchange.caller())) {
      const hint =
        'Use a token with the scope auth.jwt.operatorScope, or add the address to metrics.allowFrom.';
      throw new LangoError('forbidden', 'Only operators of this server may read its metrics.', { hint });
    }
    await this.#readSources();
    const text = await this.#instruments.text();
    exchange.response.writeHead(200, { 'Content-Type': this.#instruments.contentType });
    exchange.response.end(text);
  }

  async #readSources(): Promise<void> {
    const { openTasks, peers, pushes, streams } = this.#sources;
    const tasks = ((await openTasks?.()) ?? []).map(({ value, ...labels }) => [labels, value] as const);
    const states = (peers?.() ?? []).map(({ name, state }) => [{ peer: name, state }, 1] as const);
    const webhooks = Object.entries((await pushes?.()) ?? {}).map(
      ([state, count]) => [{ state }, count] as const,
    );
    this.#instruments.set('openTasks', tasks);
    this.#instruments.set('peers', states);
    this.#instruments.set('webhooks', webhooks);
    this.#instruments.set('streams', [[{}, streams?.() ?? 0]]);
  }

  #hasToken({ request }: HttpExchange): boolean {
    const [, given] = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '') ?? [];
    return given !== undefined && this.#options.isToken(given);
  }

  #isAllowed(address: string): boolean {
    const plain = address.replace(/^::ffff:(?=\d+\.)/, '');
    return this.#allowed.check(plain, isIPv6(plain) ? 'ipv6' : 'ipv4');
  }
}

/** Builds the list of networks. Throws `invalid-config` for a text that is neither an address nor a network. */
function networks(given: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of given) {
    const [address = '', bits] = text.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    try {
      if (bits === undefined) list.addAddress(address, family);
      else list.addSubnet(address, Number(bits), family);
    } catch (cause) {
      const problem = `metrics.allowFrom: "${text}" is neither an address nor a network.`;
      const hint = 'Write an address (10.0.0.7) or a network (10.0.0.0/8).';
      throw new LangoError('invalid-config', problem, { hint, cause });
    }
  }
  return list;
}
