import { expect, it } from '@jest/globals';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isLangoError } from '../../../src/core/errors.js';
import { silentLogger } from '../../../src/core/logger.js';
import { openSqliteStorage } from '../../../src/storage/sqlite/storage.js';
import { verifyDatabase } from '../../../src/storage/sqlite/verify.js';
import {
  acceptOne,
  AGENT,
  ALICE,
  fenceOf,
  message,
  runEnd,
  turnEnd,
} from '../../suites/task-store-fixtures.js';

/**
 * The effect of a flipped bit or a cut on a database of 90 tasks: no wrong data is served, and nothing is lost without
 * an error.
 */

const TASKS = 90;
const ROUNDS = Number(process.env['LANGO_FLIPS'] ?? 40);
const PAGE = 4_096;
const SEED = Number(process.env['LANGO_SEED'] ?? Date.now() % 1_000_000);

/** A small generator of numbers below `limit` (mulberry32). */
function randomNumbers(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  };
}

/** The state, status message and events of each task as JSON; `undefined` when the store refuses it. */
type Served = Map<string, string | undefined>;

async function serve(folder: string, ids: readonly string[]): Promise<Served | 'refused'> {
  let storage;
  try {
    storage = openSqliteStorage({
      file: path.join(folder, 'l.db'),
      synchronous: 'normal',
      logger: silentLogger,
    });
  } catch (error) {
    if (isLangoError(error, 'storage')) return 'refused';
    throw error;
  }
  const { tasks } = storage;
  const served: Served = new Map();
  const listed = await unlessRefused(
    async () => (await tasks.list(ALICE, { agent: AGENT, pageSize: 100 })).tasks.length,
  );
  served.set('listed', listed === undefined ? undefined : String(listed));
  for (const id of ids) {
    const read = async () => {
      const task = await tasks.get(ALICE, id);
      return JSON.stringify([task?.state, task?.statusMessage, await tasks.read(id, 0, 100)]);
    };
    served.set(id, await unlessRefused(read));
  }
  await storage.close();
  return served;
}

async function unlessRefused<Result>(read: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await read();
  } catch (error) {
    if (isLangoError(error, 'storage')) return undefined;
    throw error;
  }
}

function problemsOf(folder: string): readonly string[] {
  try {
    return verifyDatabase(path.join(folder, 'l.db')).problems;
  } catch (error) {
    if (isLangoError(error, 'storage')) return [error.message];
    throw error;
  }
}

it(`a damaged database serves no wrong data, and loses nothing without an error (LANGO_SEED=${SEED})`, async () => {
  const root = mkdtempSync(path.join(tmpdir(), 'lango-flips-'));
  const whole = path.join(root, 'whole');
  const copy = path.join(root, 'copy');
  const random = randomNumbers(SEED);
  const tally = { refused: 0, told: 0, unchanged: 0 };
  const wrong: string[] = [];
  try {
    mkdirSync(whole);
    const storage = openSqliteStorage({
      file: path.join(whole, 'l.db'),
      synchronous: 'normal',
      logger: silentLogger,
    });
    const ids: string[] = [];
    for (let count = 0; count < TASKS; count += 1) {
      const task = await acceptOne(storage.tasks, { lease: 'w', message: message(`order ${count}`) });
      await storage.tasks.append(fenceOf(task), [
        turnEnd(`answer ${count}`),
        runEnd('completed', `end ${count}`),
      ]);
      ids.push(task.id);
    }
    await storage.close();
    const right = await serve(whole, ids);
    if (right === 'refused') throw new Error('the whole database was refused');
    for (let round = 0; round < ROUNDS; round += 1) {
      rmSync(copy, { recursive: true, force: true });
      cpSync(whole, copy, { recursive: true });
      const file = path.join(copy, 'l.db');
      const bytes = readFileSync(file);
      // Every other flip is in the header of a page, where one bit can hide a whole record.
      const at = round % 2 === 0 ? random(bytes.length) : PAGE * random(bytes.length / PAGE) + random(16);
      const cuts = round % 10 === 9;
      if (cuts) truncateSync(file, at);
      else {
        bytes[at]! ^= 1 << random(8);
        writeFileSync(file, bytes);
      }
      const told = problemsOf(copy).length > 0;
      const served = await serve(copy, ids);
      const what = `${cuts ? 'cut' : 'flip'} at ${at}`;
      if (served === 'refused') tally.refused += 1;
      else {
        const other = [...served].filter(([id, text]) => text !== undefined && text !== right.get(id));
        if (other.length > 0)
          wrong.push(`${what} (doctor ${told ? 'tells' : 'is silent'}): ${other.join(' ').slice(0, 300)}`);
        else if (told) tally.told += 1;
        else if ([...served].some(([, text]) => text === undefined))
          wrong.push(`${what}: refused, but the doctor is silent`);
        else tally.unchanged += 1;
      }
    }
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
  if (process.env['LANGO_FLIPS']) console.log(tally);
  expect(wrong).toEqual([]);
});
