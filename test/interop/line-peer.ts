import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { JsonObject } from '../../src/core/json.js';
import { FOLDER, PEERS } from './framework.js';
import type { Sdk } from './sdks.js';

/** A response of a framework's program: the members of its operation, or `error` with the name of an exception. */
interface LineAnswer {
  readonly answer?: string;
  readonly answers?: readonly string[];
  readonly pieces?: number;
  readonly files?: readonly string[];
  readonly name?: string;
  readonly error?: string;
}

/** A response of a program in `peers/`: the members of its operation, or `error` with the name of an exception. */
export interface PeerAnswer {
  readonly taskId: string;
  readonly state: string;
  readonly text: string;
  readonly files: readonly { readonly name: string; readonly mediaType: string; readonly base64: string }[];
  readonly events: number;
  readonly url: string;
  readonly name: string;
  readonly ids: readonly string[];
  readonly seen: readonly string[];
  readonly version: string;
  readonly error?: string;
}

/** The folder that `.ci/frameworks` filled for an SDK. Undefined when it is not installed. */
export function folderOf({ folder }: Sdk): string | undefined {
  const place = FOLDER && path.join(FOLDER, folder);
  return place && existsSync(path.join(place, 'installed')) ? place : undefined;
}

/** A program that reads one JSON request a line and responds to each with one JSON line. */
export class Lines<Result extends object = LineAnswer> implements AsyncDisposable {
  /** Everything that the program wrote to stderr. */
  complaints = '';
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor(child: ChildProcess) {
    this.#child = child;
    child.stderr!.on('data', (chunk) => (this.complaints += String(chunk)));
    this.#lines = createInterface(child.stdout!)[Symbol.asyncIterator]();
  }

  async do(op: string, given: JsonObject = {}): Promise<Result> {
    this.#child.stdin!.write(`${JSON.stringify({ op, ...given })}\n`);
    for (;;) {
      const line = await this.#lines.next();
      if (line.done) throw new Error(`the program ended: ${this.complaints}`);
      if (line.value.startsWith('{')) return JSON.parse(line.value) as Result;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#child, 'close');
    this.#child.kill('SIGKILL');
    await closed;
  }
}

/** A program that uses an SDK. */
export class LinePeer implements AsyncDisposable {
  readonly #lines: Lines<PeerAnswer>;

  constructor(sdk: Sdk) {
    const place = folderOf(sdk)!;
    const [command, ...args] = sdk.command(place, PEERS);
    this.#lines = new Lines(spawn(command!, args, { cwd: place, stdio: ['pipe', 'pipe', 'pipe'] }));
  }

  /** Runs an operation. Resolves with its response, which may be an error. */
  tryTo(op: string, given: JsonObject = {}): Promise<PeerAnswer> {
    return this.#lines.do(op, given);
  }

  async do(op: string, given: JsonObject = {}): Promise<PeerAnswer> {
    const answer = await this.tryTo(op, given);
    if (answer.error) throw new Error(`${op}: ${JSON.stringify(answer)}`);
    return answer;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#lines[Symbol.asyncDispose]();
  }
}
