import type { ServerWritableStream } from '@grpc/grpc-js';
import { LangoError } from '../../../core/errors.js';

type Out = ServerWritableStream<Buffer, Buffer>;

/**
 * Writes one event and resolves once there is room for the next; the events are in the journal, so waiting costs no
 * memory. Rejects with `too-many` for a reader that takes nothing for `stallMs`: it can come back with its cursor.
 */
export async function writeEvent(call: Out, event: Buffer, pace: Pace): Promise<void> {
  if (call.write(event) || pace.signal.aborted) return;
  await new Promise<void>((resolve, reject) => {
    const leave = (): void => {
      clearTimeout(timer);
      call.off('drain', leave);
      pace.signal.removeEventListener('abort', leave);
      resolve();
    };
    const timer = setTimeout(() => {
      reject(tooSlow());
      leave();
    }, pace.stallMs);
    call.on('drain', leave);
    pace.signal.addEventListener('abort', leave);
  });
}

export interface Pace {
  readonly signal: AbortSignal;
  readonly stallMs: number;
}

function tooSlow(): LangoError {
  return new LangoError('too-many', 'the reader of this stream is too slow', {
    retryable: true,
    hint: 'Subscribe again with last-event-id to get what is missing.',
  });
}
