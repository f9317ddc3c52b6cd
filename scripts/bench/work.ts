import { setImmediate as nextTurn } from 'node:timers/promises';

/** What every server of the bench is asked to do, in the text of the message. */
export interface Work {
  readonly kind: 'echo' | 'stream' | 'append';
  /** Chunks of a stream. */
  readonly chunks: number;
}

export const ANSWER = 'hello from the bench';
export const CHUNK = 'forty characters of an answer, no more. '.padEnd(40);
const CHUNKS_PER_TURN = 5;

/** "stream 200": two hundred chunks; "append 200": the same, each one durable before the next. */
export function parseWork(text: string): Work {
  const [kind, chunks] = text.split(' ');
  if (kind !== 'stream' && kind !== 'append') return { kind: 'echo', chunks: 0 };
  return { kind, chunks: Number(chunks) };
}

/** Hands out chunks as a model would: a few, then the event loop gets its turn. */
export async function eachChunk(
  { chunks }: Work,
  take: (text: string, index: number) => Promise<void> | void,
): Promise<void> {
  for (let index = 0; index < chunks; index += 1) {
    await take(CHUNK, index);
    if (index % CHUNKS_PER_TURN === CHUNKS_PER_TURN - 1) await nextTurn();
  }
}
