import { LangoError } from '../core/errors.js';

/** Where a page of a list ended: the order of lists is by these two, newest first. */
export interface PagePosition {
  readonly statusAt: number;
  readonly taskId: string;
}

/**
 * A position, not a name: the next page starts below it, whatever became of the task that stood there.
 */
export function toPageToken(position: PagePosition): string {
  return Buffer.from(`${position.statusAt}.${position.taskId}`).toString('base64url');
}

/** Throws `LangoError` `invalid-input` for anything that `toPageToken` did not make. */
export function parsePageToken(token: string): PagePosition {
  const [, time, taskId] = POSITION.exec(Buffer.from(token, 'base64url').toString()) ?? [];
  const position = { statusAt: Number(time), taskId: taskId ?? '' };
  if (!Number.isSafeInteger(position.statusAt) || toPageToken(position) !== token) {
    throw new LangoError('invalid-input', 'The page token is not one that this server gave out.', {
      hint: 'Start again without a page token.',
      violations: [{ field: 'pageToken', description: 'It must be the nextPageToken of an earlier answer.' }],
    });
  }
  return position;
}

const POSITION = /^(\d+)\.(.+)$/s;
