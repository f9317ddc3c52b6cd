import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../abuse/fuzz/random.js';
import { TOKEN } from './token.js';

/** The actions and observations of one client on one task. */
export interface Story {
  readonly taskId: string;
  /** The numbers of the events that it received over all of its connections, in the order of arrival. */
  readonly seen: readonly number[];
  readonly connections: number;
  readonly canceled: boolean;
  /** The number of sends until the message was acknowledged. */
  readonly sends: number;
}

interface Wire {
  readonly result?: { readonly task?: { readonly id: string } };
  readonly error?: { readonly code: number; readonly message: string };
}

const CALL_MS = 15_000;
/** Milliseconds without a byte after which a stream is opened again at another replica. */
const SILENT_MS = 2_500;
const PAUSE_MS = 100;
/** Milliseconds after which a task that has not ended is a finding. */
const PATIENCE_MS = 180_000;

const HEADERS = {
  authorization: `Bearer ${TOKEN}`,
  'content-type': 'application/json',
  'a2a-version': '1.0',
};

/** A caller who uses any replica, and another one after each failure. */
export class Client {
  readonly #ports: readonly number[];
  readonly #random: Random;

  constructor(ports: readonly number[], random: Random) {
    this.#ports = ports;
    this.#random = random;
  }

  /** Sends one message and follows its task to the end. Rejects when it does not end. */
  async run(): Promise<Story> {
    const { taskId, sends } = await this.#send({ text: 'go' });
    const deadline = Date.now() + PATIENCE_MS;
    const wantsCancel = this.#random.chance(10);
    const seen: number[] = [];
    let connections = 0;
    for (let ended = false; !ended;) {
      if (Date.now() > deadline) throw new Error(`task ${taskId} did not end`);
      connections += 1;
      const state = await this.#follow(taskId, seen).catch(() => undefined);
      if (wantsCancel && seen.length > 5) await this.#call('CancelTask', { id: taskId });
      if (state === 'TASK_STATE_INPUT_REQUIRED') await this.#send({ text: 'deny', taskId });
      ended = state !== undefined && /COMPLETED|CANCELED|FAILED|REJECTED/.test(state);
      if (!ended) await sleep(PAUSE_MS);
    }
    return { taskId, seen, connections, canceled: wantsCancel, sends };
  }

  /** All events of a task, as one connection shows them. */
  async whole(taskId: string): Promise<readonly number[]> {
    const seen: number[] = [];
    await this.#follow(taskId, seen);
    return seen;
  }

  /** Sends a message, again after each failure, until it is acknowledged. */
  async #send({ text, taskId }: { text: string; taskId?: string }) {
    const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], taskId };
    const request = { message, configuration: { returnImmediately: true } };
    for (let sends = 1; ; sends += 1) {
      const answer = await this.#call('SendMessage', request);
      if (answer?.result?.task) return { taskId: answer.result.task.id, sends };
      // In the meantime the question was replied to, or the task canceled.
      if (answer?.error && taskId !== undefined && answer.error.code !== -32000) return { taskId, sends };
      await sleep(PAUSE_MS);
    }
  }

  async #call(method: string, params: object): Promise<Wire | undefined> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const options = { method: 'POST', headers: HEADERS, body, signal: AbortSignal.timeout(CALL_MS) };
    return fetch(this.#anywhere(), options)
      .then((response) => response.json() as Promise<Wire>)
      .catch(() => undefined);
  }

  /** Reads one stream from the last event seen. Resolves with the last state in it. */
  async #follow(taskId: string, seen: number[]): Promise<string | undefined> {
    const silence = new AbortController();
    let timer = setTimeout(() => silence.abort(), SILENT_MS);
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id: taskId } });
    const headers = { ...HEADERS, 'last-event-id': String(seen.at(-1) ?? 0) };
    let state: string | undefined;
    try {
      const response = await fetch(this.#anywhere(), {
        method: 'POST',
        headers,
        body,
        signal: silence.signal,
      });
      let text = '';
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
        clearTimeout(timer);
        timer = setTimeout(() => silence.abort(), SILENT_MS);
        text += chunk;
        const blocks = text.split('\n\n');
        text = blocks.pop()!;
        for (const block of blocks) {
          const id = /^id: ?(\d+)$/m.exec(block)?.[1];
          if (id === undefined) continue;
          seen.push(Number(id));
          state = /TASK_STATE_\w+/.exec(block.includes('"statusUpdate"') ? block : '')?.[0] ?? state;
        }
      }
    } catch {
      // The replica is gone, or silent: the next one continues.
    } finally {
      clearTimeout(timer);
    }
    return state;
  }

  #anywhere(): string {
    return `http://127.0.0.1:${this.#random.pick(this.#ports)}/`;
  }
}
