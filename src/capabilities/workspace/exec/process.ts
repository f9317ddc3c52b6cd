import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { constants } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { LangoError } from '../../../core/errors.js';
import { noScrubber, type Scrubber } from '../../../core/secrets.js';
import { pause, waitAtMost } from '../../../core/time.js';
import { Capture } from './capture.js';
import { withDescriptors } from './descriptors.js';
import type { Launch } from './launch.js';
import { endWithServer, MARK_VARIABLE } from './reaper.js';

/** A running program with its child processes. */
export interface Process {
  readonly stdout: Capture;
  readonly stderr: Capture;
  /** Resolves when the program and its child processes have ended. Rejects with `unavailable` if it did not start. */
  readonly ended: Promise<ExitStatus>;
  /** Ends it with its child processes, then resolves like `ended`: if contained at once, else 2 s after SIGTERM. */
  stop(): Promise<ExitStatus>;
  /** Sends SIGKILL without waiting, for a server that is about to exit. */
  killNow(): void;
}

export interface ExitStatus {
  /** The exit code, or 128 plus the number of the signal that ended the program. */
  readonly exitCode: number;
}

const TERM_GRACE_MS = 2_000;
/** The longest time that a pipe stays open after its program ended: an escaped child process may hold it. */
const PIPE_GRACE_MS = 1_000;
/** Pause between reads of 64 KiB once an output exceeds its limit, so that endless output does not occupy a CPU core. */
const READ_PAUSE_MS = 5;

/**
 * Starts a program in its own session, without stdin. Reads all of its output, removes the secrets that `scrubber` knows at
 * the start, and keeps a bounded part: see `Capture`.
 */
export function startProcess(launch: Launch, outputBytes: number, scrubber = noScrubber): Process {
  const stdout = new Capture(outputBytes);
  const stderr = new Capture(outputBytes);
  const { child, killNow, ...process } = open(launch, 'ignore');
  const finishes = [
    captureOutput(child.stdout!, stdout, scrubber),
    captureOutput(child.stderr!, stderr, scrubber),
  ];
  const ended = process.ended.finally(() => finishes.forEach((finish) => finish()));
  ended.catch(() => undefined);
  return { stdout, stderr, ended, killNow, stop: () => process.stop().then(() => ended) };
}

/** A running program that the server communicates with over stdin and stdout. */
export type PipedProcess = ReturnType<typeof startPiped>;

/** Like `startProcess`, for a program that serves over stdin and stdout. Keeps a bounded part of its stderr. */
export function startPiped(launch: Launch, stderrBytes: number) {
  const stderr = new Capture(stderrBytes);
  const { child, ...process } = open(launch, 'pipe');
  captureOutput(child.stderr!, stderr, noScrubber);
  for (const pipe of [child.stdin!, child.stdout!]) pipe.on('error', () => undefined); // `ended` reports it.
  return { stdin: child.stdin!, stdout: child.stdout!, stderr, ...process };
}

function open(launch: Launch, stdin: 'ignore' | 'pipe') {
  const { contained } = launch;
  const mark = contained ? undefined : randomBytes(12).toString('hex');
  const child = spawnChild(launch, stdin, mark);
  const over = mark && child.pid ? endWithServer(child.pid, mark) : undefined;
  const ended = waitForEnd(child, mark).finally(over);
  ended.catch(() => undefined);
  const killNow = () => signalGroup(child, 'SIGKILL');
  const stop = async (): Promise<ExitStatus> => {
    if (!contained) {
      signalGroup(child, 'SIGTERM');
      await waitAtMost(TERM_GRACE_MS, ended);
    }
    killNow();
    return ended;
  };
  return { child, ended, killNow, stop };
}

/** Separate from `open`, so that its closures do not keep the environment, which may contain secrets, in memory. */
function spawnChild(launch: Launch, stdin: 'ignore' | 'pipe', mark: string | undefined): ChildProcess {
  const env = mark === undefined ? launch.env : { ...launch.env, [MARK_VARIABLE]: mark };
  const { file, args, cwd, pipedInputs } = launch;
  const child = withDescriptors(stdin, pipedInputs.length, (stdio) =>
    spawn(file, args, { cwd, env, stdio, detached: true }),
  );
  writeInputs(child, pipedInputs);
  return child;
}

/** Separate for the same reason: a stream keeps its listener. */
function writeInputs(child: ChildProcess, inputs: Launch['pipedInputs']): void {
  inputs.forEach((input, index) => {
    const stream = child.stdio[3 + index] as Writable;
    stream.on('error', () => undefined); // The program ended before it read its input; `ended` reports that.
    stream.end(input);
  });
}

/** Captures an output. Returns a function to call at its end, which captures the rest that the scrubber still holds. */
function captureOutput(stream: Readable, capture: Capture, scrubber: Scrubber): () => void {
  let scrubbing = scrubber.isEmpty ? undefined : scrubber.stream();
  // Decodes each byte as one character, because a chunk may end inside a UTF-8 character.
  const write = (text: string): void => capture.append(Buffer.from(text, 'latin1'));
  stream.on('error', () => undefined);
  stream.on('data', (chunk: Buffer) => {
    if (scrubbing) write(scrubbing.push(chunk.toString('latin1')));
    else capture.append(chunk);
    if (!capture.isCut) return;
    stream.pause();
    setTimeout(() => stream.resume(), READ_PAUSE_MS);
  });
  return () => {
    if (scrubbing) write(scrubbing.end());
    scrubbing = undefined;
    stream.removeAllListeners('data');
  };
}

async function waitForEnd(child: ChildProcess, mark: string | undefined): Promise<ExitStatus> {
  const closed = once(child, 'close');
  closed.catch(() => undefined);
  const [code, signal] = (await once(child, 'exit').catch((error: unknown) => {
    throw new LangoError('unavailable', 'The command could not be started.', { cause: error });
  })) as [number | null, NodeJS.Signals | null];
  signalGroup(child, 'SIGKILL');
  if (mark !== undefined) await killMarked(mark);
  await waitAtMost(PIPE_GRACE_MS, closed);
  child.stdout?.destroy();
  child.stderr?.destroy();
  return { exitCode: code ?? 128 + (signal === null ? 0 : constants.signals[signal]) };
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid !== undefined) sendSignal(-pid, signal);
}

/** Signals a process, or with a negative id a process group. Does nothing when it has ended. */
function sendSignal(id: number, signal: NodeJS.Signals): void {
  try {
    process.kill(id, signal);
  } catch {
    // The process has ended.
  }
}

const ROUNDS = 10;
const ROUND_MS = 20;

/**
 * Kills the processes that left their process group (setsid, double fork), found by the mark in their environment,
 * until none is left. Works on Linux only, and misses a process that clears its environment. In the sandbox nothing can
 * escape.
 */
async function killMarked(mark: string): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const names = await readdir('/proc').catch(() => []);
    const ids = names.filter((name) => /^\d+$/.test(name));
    const environments = await Promise.all(
      ids.map((id) => readFile(`/proc/${id}/environ`, 'latin1').catch(() => '')),
    );
    const marked = ids.filter((_, index) => environments[index]!.includes(`${MARK_VARIABLE}=${mark}\0`));
    if (marked.length === 0) return;
    for (const id of marked) sendSignal(Number(id), 'SIGKILL');
    await pause(ROUND_MS);
  }
}
