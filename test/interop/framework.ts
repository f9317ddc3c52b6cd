import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { describe } from '@jest/globals';

/** The folder that `.ci/frameworks FOLDER` fills: one folder a framework, each with its node_modules. */
export const FOLDER = process.env['LANGO_TEST_FRAMEWORKS'];
export const PEERS = path.join(import.meta.dirname, 'peers');

/** `describe` for tests that need a framework's own packages. Without them it reports what it skips. */
export function describeWith(framework: string, tests: () => void): void {
  const isThere = FOLDER !== undefined && existsSync(path.join(FOLDER, framework, 'node_modules'));
  const name = `with the packages of ${framework}`;
  if (isThere) describe(name, tests);
  else {
    console.warn(
      `SKIPPED: the tests ${name}. Install them: .ci/frameworks FOLDER, LANGO_TEST_FRAMEWORKS=FOLDER`,
    );
    describe.skip(name, tests);
  }
}

/** Starts a program of `peers/` as a process that finds the packages of its framework. */
async function start(framework: string, program: string, given: readonly string[]) {
  const folder = path.join(FOLDER ?? '', framework);
  const copy = path.join(folder, `${process.pid}-${program}`);
  await copyFile(path.join(PEERS, program), copy);
  return spawn(process.execPath, [copy, ...given], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
}

/** Runs a client of a framework to its end. Returns the JSON lines that it prints. */
export async function runClient(framework: string, program: string, given: readonly string[]) {
  const child = await start(framework, program, given);
  const [output, complaints] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  const lines = output.split('\n').filter((line) => line.startsWith('{'));
  if (lines.length === 0) throw new Error(`${program} printed nothing: ${complaints}`);
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

export interface FrameworkServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts a server of a framework. It is ready once it has printed its address. */
export async function startPeer(
  framework: string,
  program: string,
  ...given: readonly string[]
): Promise<FrameworkServer> {
  const child = await start(framework, program, given);
  const closed = once(child, 'close');
  let complaints = '';
  child.stderr.on('data', (chunk) => (complaints += String(chunk)));
  for await (const line of createInterface(child.stdout)) {
    if (!line.startsWith('{"url"')) continue;
    const { url } = JSON.parse(line) as { readonly url: string };
    const stop = async (): Promise<void> => {
      child.kill('SIGKILL');
      await closed;
    };
    return { url, stop };
  }
  throw new Error(`${program} did not start: ${complaints}`);
}
