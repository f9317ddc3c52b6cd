import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { LangoError } from '../../src/core/errors.js';
import { close, ended, journal, message, open, SCOPE, store } from './journal-under-test.js';

const away = (): LangoError => new LangoError('storage', 'The database is away.', { retryable: true });

afterEach(async () => {
  jest.restoreAllMocks();
  await close();
});

/** Makes the append of each tool result fail so many times: before it is stored, or after. */
function failResults(times: number, isStored: boolean): void {
  const append = store.append.bind(store);
  let failures = 0;
  jest.spyOn(store, 'append').mockImplementation(async (fence, events) => {
    if (failures === times || !events.some(({ body }) => body.type === 'artifact'))
      return append(fence, events);
    failures += 1;
    if (isStored) await append(fence, events);
    throw away();
  });
}

describe('the result of a call, while the database is away,', () => {
  it.each([
    { what: 'when it was not stored', times: 2, isStored: false },
    { what: 'when it was stored, and the answer was lost', times: 1, isStored: true },
  ])('is kept and stored once, by the same run: $what', async ({ times, isStored }) => {
    let runs = 0;
    await open(async (run) => {
      runs += 1;
      await run.append({ type: 'turn-start', step: 't1' });
      await run.append({ type: 'artifact', artifact: { id: 'paid', parts: [] }, append: false });
      return { state: 'completed' };
    });
    failResults(times, isStored);
    const { task } = await journal.submit(message('pay'));
    const types = (await ended(task.id)).map(({ body }) => body.type);
    expect([runs, types.filter((type) => type === 'artifact'), types.at(-1)]).toEqual([
      1,
      ['artifact'],
      'run-end',
    ]);
    expect(await store.get(SCOPE, task.id)).toMatchObject({ state: 'completed', head: types.length });
  });

  it('is dropped when another process has taken the task over meanwhile', async () => {
    let runs = 0;
    await open(async (run) => {
      runs += 1;
      await run.append({ type: 'turn-start', step: `t${runs}` });
      await run.append({ type: 'artifact', artifact: { id: `run ${runs}`, parts: [] }, append: false });
      return { state: 'completed' };
    });
    failResults(1, false);
    const retake = store.retake.bind(store);
    jest.spyOn(store, 'retake').mockImplementationOnce(async (worker, fence) => {
      await store.release(worker, fence.taskId);
      return retake(worker, fence);
    });
    const { task } = await journal.submit(message('pay'));
    const artifacts = (await ended(task.id)).flatMap(({ body }) =>
      body.type === 'artifact' ? [body.artifact.id] : [],
    );
    expect([runs, artifacts]).toEqual([2, ['run 2']]);
  });
});

it('a run that could not read while the database was away is followed by another one, and the task does not fail', async () => {
  let runs = 0;
  await open(async () => {
    runs += 1;
    if (runs === 1) throw away();
    return { state: 'completed' };
  });
  const { task } = await journal.submit(message('read'));
  const types = (await ended(task.id)).map(({ body }) => body.type);
  expect([runs, types]).toEqual([2, ['message', 'run-start', 'run-start', 'run-end']]);
  expect(await store.get(SCOPE, task.id)).toMatchObject({ state: 'completed' });
});
