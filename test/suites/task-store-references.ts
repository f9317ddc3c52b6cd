import { describe, expect, it } from '@jest/globals';
import { all } from '../../src/core/sql.js';
import type { Origin } from '../../src/core/origin.js';
import type { EventBody, TaskEvent, TaskRecord } from '../../src/core/task.js';
import type { StoreUnderTest } from './task-store-fixtures.js';
import {
  acceptOne,
  AGENT,
  ALICE,
  BOB,
  delta,
  fenceOf,
  readAll,
  RUN_START,
  runEnd,
} from './task-store-fixtures.js';

const LONG = 'a text that is longer than its reference, so it is kept in one place. '.repeat(3);
/** More than the events that a store keeps in memory. */
const MEMORY = 700_000;

const call: EventBody = {
  ...{ type: 'tool-call', step: 't1.c0', callId: 'c', tool: 'fs_read', effect: 'pure', key: 'k' },
  arguments: { path: LONG },
};
const result = {
  ...{ type: 'tool-result', step: 't1.c0' },
  result: { id: 'c', name: 'fs_read', isError: false, content: LONG.repeat(20) },
} as const satisfies EventBody;
const file = {
  ...{ type: 'artifact', append: false, lastChunk: true },
  artifact: { id: 'file', parts: [{ kind: 'file', bytes: Buffer.from(LONG).toString('base64') }] },
} as const satisfies EventBody;

function text(said: string, from?: Origin): EventBody {
  return { type: 'text-delta', artifactId: 'x', text: said, replace: false, ...(from && { from }) };
}

/** Entries of a task that repeat those of a task below: the store keeps their content once. */
export function referenceCases(get: () => StoreUnderTest): void {
  const append = (task: TaskRecord, ...bodies: readonly EventBody[]) =>
    get().store.append(
      fenceOf(task),
      bodies.map((body) => ({ author: AGENT, body })),
    );
  /** Fills the memory of the store with another task, so that later reads are of the database. */
  const forget = async () => {
    const { store } = get();
    const other = await acceptOne(store);
    for (const _ of 'ab') await store.append(fenceOf(other), [delta('x'.repeat(MEMORY))]);
  };
  const stored = async ({ id }: TaskRecord) => {
    const sql =
      'SELECT body FROM events WHERE task = (SELECT key FROM tasks WHERE id = ?) AND seq > 1 ORDER BY seq';
    const rows = await get().storage.database.read(() => all<{ readonly body: string }>(sql, id));
    return rows.flatMap(({ body }) => body.split('\n'));
  };
  const bodiesOf = (events: readonly TaskEvent[]) => events.slice(1).map(({ body }) => body);
  /** A task with entries of each kind, from number 2 on: two texts, a call, its result, a file. */
  const child = async (changes: Parameters<typeof acceptOne>[1] = {}): Promise<TaskRecord> => {
    const task = await acceptOne(get().store, changes);
    await append(task, text(LONG));
    await append(task, text(`second ${LONG}`));
    await append(task, call, result, file);
    return task;
  };
  const repeated = ({ id }: TaskRecord): readonly EventBody[] => [
    text(`${LONG}second ${LONG}`, [id, 2, 3]),
    text(LONG.slice(10, 200), [id, 2, 2, 10, 200]),
    {
      ...{ type: 'activity', from: [id, 4, 4] },
      activity: { type: 'tool-call', tool: 'fs_read', arguments: { path: LONG } },
    },
    {
      ...{ type: 'activity', from: [id, 5, 5] },
      activity: {
        ...{ type: 'tool-result', tool: 'fs_read', isError: false },
        text: result.result.content.slice(0, 2_000),
      },
    },
    { ...file, artifact: { ...file.artifact, id: 'c0/file' }, from: [id, 6, 6] },
    text(`${LONG.slice(-5)}second ${LONG.slice(0, -1)}`, [id, 2, 3, -5, -1]),
  ];

  describe('an entry that repeats entries of a task below', () => {
    it('is stored as a reference, and read whole from memory and from the database', async () => {
      const { store } = get();
      const below = await child();
      const above = await acceptOne(store);
      await append(above, ...repeated(below));
      const bodies = await stored(above);
      expect(bodies.join('')).not.toMatch(/longer than|YSB0ZXh0/);
      for (const body of bodies) expect(body.length).toBeLessThan(200);
      expect(bodiesOf(await readAll(store, above))).toEqual(repeated(below));
      await forget();
      expect(bodiesOf(await readAll(store, above))).toEqual(repeated(below));
      expect((await store.read(above.id, 3, 1)).map(({ body }) => body)).toEqual([repeated(below)[2]]);
    });

    it('has its number, time and author like every other entry', async () => {
      const { store } = get();
      const below = await child();
      const above = await acceptOne(store);
      await append(above, ...repeated(below), text('own'));
      const before = await readAll(store, above);
      expect(before.map(({ seq, author }) => [seq, author]).slice(1)).toEqual(
        [2, 3, 4, 5, 6, 7, 8].map((seq) => [seq, AGENT]),
      );
      await forget();
      expect(await readAll(store, above)).toEqual(before);
    });

    it('is stored whole when it is shorter than its reference', async () => {
      const below = await acceptOne(get().store);
      await append(below, text('short'));
      const above = await acceptOne(get().store);
      await append(above, text('short', [below.id, 2, 2]));
      expect((await stored(above)).map((body) => JSON.parse(body) as unknown)).toEqual([text('short')]);
      expect(bodiesOf(await readAll(get().store, above))).toEqual([text('short')]);
    });

    it('may not be larger with its content than any other entry', async () => {
      const below = await child();
      const above = await acceptOne(get().store);
      const large = text('x'.repeat(1024 * 1024), [below.id, 2, 2]);
      await expect(append(above, large)).rejects.toMatchObject({ code: 'too-large' });
    });

    it('says that its content is lost when the other entries are gone, and leaves the rest as it is', async () => {
      const { store, storage } = get();
      const below = await child();
      await store.append(fenceOf(below), [RUN_START, runEnd('completed')]);
      const above = await acceptOne(store);
      await append(above, ...repeated(below), text('own'));
      await forget();
      expect(await storage.retention.remove([below.id])).toEqual([below.id]);
      const lost = (seq: number) =>
        `[This text is lost: entry ${seq} of task ${below.id} is missing or damaged.]`;
      expect(bodiesOf(await readAll(store, above))).toMatchObject([
        { text: lost(2) + lost(3) },
        { text: lost(2) },
        { activity: { type: 'text', text: lost(4) } },
        { activity: { type: 'text', text: lost(5) } },
        { artifact: { id: 'c0/file', parts: [{ kind: 'text', text: lost(6) }] } },
        // An entry before it names the lost entry 2.
        { text: lost(3) },
        text('own'),
      ]);
      // A run of the task goes on: its own entries are whole.
      expect(await store.endDamaged(fenceOf(above), runEnd('failed'))).toBeUndefined();
      expect(await append(above, text('more'))).toBe(9);
    });

    it('follows no chain: an entry that holds no content itself counts as missing', async () => {
      const { store } = get();
      const below = await child();
      const between = await acceptOne(store);
      await append(between, ...repeated(below));
      const above = await acceptOne(store);
      await append(above, text(LONG, [between.id, 3, 3]), text(LONG, [between.id, 4, 4]));
      await forget();
      const lost = (seq: number) =>
        text(expect.stringMatching(`entry ${seq} of task ${between.id} is missing`) as never);
      expect(bodiesOf(await readAll(store, above))).toMatchObject([lost(3), lost(4)]);
    });

    it('shows nothing of entries that were set aside as damaged, and no other text', async () => {
      const { store, storage } = get();
      const below = await child();
      const above = await acceptOne(store);
      await append(above, ...repeated(below));
      await forget();
      const cut =
        'UPDATE events SET seq = -seq WHERE task = (SELECT key FROM tasks WHERE id = ?) AND seq = 3';
      await storage.database.write('', () => all(cut, below.id));
      expect(await store.endDamaged(fenceOf(below), runEnd('failed'))).toBe(3);
      const lost = `[This text is lost: entry 3 of task ${below.id} is missing or damaged.]`;
      const [joined, part, ...others] = bodiesOf(await readAll(store, above));
      expect(others.pop()).toMatchObject({ text: `${LONG.slice(-5)}${lost}` });
      expect(joined).toMatchObject({ text: `${LONG}${lost}` });
      expect(part).toEqual(repeated(below)[1]);
      expect(JSON.stringify(others)).not.toContain('longer than');
    });

    it('never shows entries of another owner', async () => {
      const { store } = get();
      const below = await child({ scope: BOB });
      const above = await acceptOne(store, { scope: ALICE });
      await append(above, ...repeated(below));
      await forget();
      expect(JSON.stringify(await readAll(store, above))).not.toMatch(/longer than|YSB0ZXh0/);
    });
  });
}
