import type { LiveText, TaskEvent } from '../core/task.js';

/** One push config, in memory. */
export interface QueuedConfig {
  readonly key: string;
  readonly taskId: string;
  readonly host: string;
}

/** Hands out push configs first in, first out, within two limits: deliveries at once, and deliveries at once to one host. */
export class DeliveryQueue {
  readonly #slots: number;
  readonly #slotsPerHost: number;
  readonly #ready = new Set<QueuedConfig>();
  readonly #busy = new Set<QueuedConfig>();
  readonly #busyPerHost = new Map<string, number>();
  /** Configs that were added again during their delivery. */
  readonly #again = new Set<QueuedConfig>();

  constructor(slots: number, slotsPerHost: number) {
    this.#slots = slots;
    this.#slotsPerHost = slotsPerHost;
  }

  add(config: QueuedConfig): void {
    if (this.#busy.has(config)) this.#again.add(config);
    else this.#ready.add(config);
  }

  isReady(config: QueuedConfig): boolean {
    return this.#ready.has(config);
  }

  remove(config: QueuedConfig): void {
    this.#ready.delete(config);
    this.#again.delete(config);
  }

  /** The next config within both limits. It holds its slot until `done`. */
  take(): QueuedConfig | undefined {
    if (this.#busy.size >= this.#slots) return undefined;
    for (const config of this.#ready) {
      const busy = this.#busyPerHost.get(config.host) ?? 0;
      if (busy >= this.#slotsPerHost) continue;
      this.#ready.delete(config);
      this.#busy.add(config);
      this.#busyPerHost.set(config.host, busy + 1);
      return config;
    }
    return undefined;
  }

  done(config: QueuedConfig): void {
    this.#busy.delete(config);
    const busy = (this.#busyPerHost.get(config.host) ?? 1) - 1;
    if (busy === 0) this.#busyPerHost.delete(config.host);
    else this.#busyPerHost.set(config.host, busy);
    if (this.#again.delete(config)) this.#ready.add(config);
  }
}

/** The longest text of one delivery, in characters. */
const TEXT_CHARACTERS = 64 * 1024;

/** The next notification that a push config is due. */
export interface NextDelivery {
  /** Consecutive text deltas are joined into one event with the number of the last delta. */
  readonly event: TaskEvent;
  /** When the first of the joined events was written. */
  readonly since: number;
  /** True when later text could still be joined to this event. */
  readonly mayGrow: boolean;
}

/** The first delivery of the events that are shown; undefined without any. Deterministic: a retry repeats it exactly. */
export function nextDelivery(shown: readonly TaskEvent[]): NextDelivery | undefined {
  const [first] = shown;
  if (!first) return undefined;
  if (first.body.type !== 'text-delta') return { event: first, since: first.at, mayGrow: false };
  let event: TextEvent = { ...first, body: first.body };
  for (const next of shown.slice(1)) {
    const joined = joinText(event, next);
    if (!joined) return { event, since: first.at, mayGrow: false };
    event = joined;
  }
  return { event, since: first.at, mayGrow: true };
}

type TextEvent = TaskEvent & LiveText;

function joinText(event: TextEvent, next: TaskEvent): TextEvent | undefined {
  const { body } = next;
  if (body.type !== 'text-delta' || body.replace || body.artifactId !== event.body.artifactId)
    return undefined;
  if (next.author !== event.author) return undefined;
  const text = event.body.text + body.text;
  const lastChunk = body.lastChunk ? { lastChunk: true } : {};
  return text.length > TEXT_CHARACTERS ? undefined : { ...next, body: { ...event.body, ...lastChunk, text } };
}
