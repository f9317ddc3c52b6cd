import { LangoError } from '../../core/errors.js';
import type { NewEvent } from '../../core/task.js';
import type { Fence } from '../../stores/tasks.js';
import { assertUnchanged, damagedTask, encodeEvent } from '../rows.js';
import type { EncodedBatch, WriteContext } from './task-writes.js';
import { appendEvents, insertEvents } from './task-writes.js';

/** Stands for an entry that is gone: readers of tasks and of conversations take nothing from it. */
const PLACEHOLDER: NewEvent['body'] = { type: 'turn-start', step: 'damaged' };
/** More placeholders than this are not written: the number of entries in the task's record is wrong then. */
const MOST_PLACEHOLDERS = 1_000_000;

/**
 * Ends a task whose journal has a gap or a damaged entry. The entries from there on get negative numbers, which no reader
 * looks at and the retention removes. Those before it stay as they are, and no cursor of a client becomes invalid.
 */
export function endDamaged(context: WriteContext, fence: Fence, end: EncodedBatch): number | undefined {
  const { statements } = context;
  const task = statements.fenced.get(fence.taskId, fence.epoch);
  if (!task) throw new LangoError('fenced', 'The task has ended, or another worker owns it now.');
  const first = firstDamaged(context, fence.taskId, task.head);
  if (first === undefined) return undefined;
  const lost = task.head - first + 1;
  if (lost > MOST_PLACEHOLDERS) throw damagedTask(`The record of task ${fence.taskId} is damaged.`);
  statements.setAside.run(task.key, first);
  const placeholder = encodeEvent({ author: undefined, body: PLACEHOLDER });
  insertEvents(context, { ...task, id: fence.taskId }, Array(lost).fill(placeholder));
  appendEvents(context, fence, end);
  return first;
}

function firstDamaged({ statements }: WriteContext, taskId: string, head: number): number | undefined {
  const rows = statements.events.all(taskId, 0, head).sort((a, b) => a.seq - b.seq);
  const found = rows.findIndex((row, index) => row.seq !== index + 1 || isChanged(taskId, row));
  if (found !== -1) return found + 1;
  return rows.length < head ? rows.length + 1 : undefined;
}

function isChanged(taskId: string, row: Parameters<typeof assertUnchanged>[1]): boolean {
  try {
    assertUnchanged(taskId, row);
    return false;
  } catch {
    return true;
  }
}
