import { afterEach, expect, it, jest } from '@jest/globals';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { recordRunningServer, runningPort } from '../../src/config/running-server.js';

afterEach(() => void jest.restoreAllMocks());

/** Makes signals fail as for a process of another user. */
function refuseSignals(): void {
  jest.spyOn(process, 'kill').mockImplementation(() => {
    throw Object.assign(new Error('not permitted'), { code: 'EPERM' });
  });
}

it('the running server of a data folder is the process that recorded itself, not a later one with the same id', async () => {
  const home = await mkdtemp(path.join(tmpdir(), 'lango-running-'));
  const forget = await recordRunningServer(home, { port: 4100 });
  expect(await runningPort(home)).toBe(4100);
  refuseSignals();
  expect(await runningPort(home)).toBe(4100);
  const file = path.join(home, 'server.json');
  const record = JSON.parse(await readFile(file, 'utf8')) as object;
  await writeFile(file, JSON.stringify({ ...record, started: '1' }));
  expect(await runningPort(home)).toBeUndefined();
  jest.restoreAllMocks();
  expect(await runningPort(home)).toBeUndefined();
  await forget();
  expect(await runningPort(home)).toBeUndefined();
  await rm(home, { recursive: true });
});
