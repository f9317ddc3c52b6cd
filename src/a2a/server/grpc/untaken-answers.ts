import type { ServerUnaryCall } from '@grpc/grpc-js';
import { LangoError } from '../../../core/errors.js';

type AnsweredCall = Pick<ServerUnaryCall<unknown, unknown>, 'getPeer' | 'cancelled'> & {
  once(event: 'cancelled', listener: () => void): unknown;
};

/** Answers that their clients have not taken, by connection: the library holds as many as it is given. Streams wait instead. */
export class UntakenAnswers {
  readonly #maxBytes: number;
  readonly #bytesOf = new Map<string, number>();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Counts an answer until its call is over. Throws `too-many` where it would be too much; one alone never is. */
  add(call: AnsweredCall, bytes: number): void {
    if (call.cancelled) return;
    const connection = call.getPeer();
    const held = this.#bytesOf.get(connection) ?? 0;
    if (held > 0 && held + bytes > this.#maxBytes) throw tooMany();
    this.#bytesOf.set(connection, held + bytes);
    // It is the end of every call, however it ended.
    call.once('cancelled', () => this.#remove(connection, bytes));
  }

  #remove(connection: string, bytes: number): void {
    const left = (this.#bytesOf.get(connection) ?? bytes) - bytes;
    if (left === 0) this.#bytesOf.delete(connection);
    else this.#bytesOf.set(connection, left);
  }
}

function tooMany(): LangoError {
  return new LangoError('too-many', 'too many answers wait on this connection to be taken', {
    retryable: true,
    hint: 'Read the answers that are there, then ask again.',
  });
}
