import { expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ended, makeHome, startServer } from '../../cli/lango-process.js';

/** A server that ignores the end of its stdin and SIGTERM, as its child does, which leaves the process group. */
const SERVER = `
import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
process.on('SIGTERM', () => {});
const code = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)";
const children = [false, true].map((detached) => spawn(process.execPath, ['-e', code], { stdio: 'ignore', detached }));
appendFileSync(process.argv[2], [process.pid, ...children.map(({ pid }) => pid)].join());
setInterval(() => {}, 1000);
`;

/** A killed process may stay in the table of processes until its new parent asks for its status. */
const isAlive = (pid: number): boolean => {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
};

it('without a sandbox, a server ends with its launcher and its children when Lango is killed', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'lango-orphans-'));
  const [script, pids] = [path.join(folder, 'server.mjs'), path.join(folder, 'pids')];
  await writeFile(script, SERVER);
  await writeFile(pids, '');
  const args = JSON.stringify(['-c', `${process.execPath} ${script} ${pids}; true`]);
  const home = await makeHome(
    `auth: { token: orphans-2b9e6f13a7c4d8 }\nmodel: { provider: offline }\nmcp: { servers: { o: { command: sh, args: ${args}, sandbox: false } } }`,
  );
  const { child } = await startServer(home);
  try {
    let found: number[] = [];
    while (found.length < 3) {
      await sleep(50);
      found = (await readFile(pids, 'utf8')).split(',').filter(Boolean).map(Number);
    }
    expect(found.every(isAlive)).toBe(true);
    const gone = ended(child);
    child.kill('SIGKILL');
    await gone;
    while (found.some(isAlive)) await sleep(50);
  } finally {
    child.kill('SIGKILL');
    await Promise.all([home.remove(), rm(folder, { recursive: true, force: true })]);
  }
});
