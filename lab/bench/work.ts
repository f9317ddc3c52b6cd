import { readFileSync } from 'node:fs';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';

/** The work that a message asks of every server, in its text. */
export interface Work {
  readonly kind: 'echo' | 'stream' | 'append' | 'paced' | 'late' | 'ask';
  /** Chunks of a stream. */
  readonly chunks: number;
}

export const ANSWER = 'hello from the bench';
export const CHUNK_CHARACTERS = 40;
/** A text like that of a model: one that repeats itself would take next to no room where texts are compressed. */
const PROSE = ['troubleshooting', 'guides/choose-models', 'guides/add-remote-agents']
  .map((page) => readFileSync(`docs/${page}.md`, 'utf8'))
  .join('')
  .replaceAll(/[^ !#-[\]-~]+/g, ' ');
const CHUNKS = Math.floor(PROSE.length / CHUNK_CHARACTERS);
const CHUNKS_PER_TURN = 5;
const PACE_MS = 20;
const LATE_MS = 60;
const STREAMS = ['stream', 'append', 'paced', 'late'] as const;

/**
 * "stream 200": two hundred chunks; "append 200": the same, each one durable before the next; "paced 200": one each 20
 * ms; "late 2": one after each 60 ms. "ask": a response after which the task waits for its next message.
 */
export function parseWork(text: string): Work {
  const [word, chunks] = text.split(' ');
  const kind = STREAMS.find((stream) => stream === word);
  if (kind) return { kind, chunks: Number(chunks) };
  return { kind: word === 'ask' ? 'ask' : 'echo', chunks: 0 };
}

/** The chunk of a stream at this index. The text begins again after 1,000 of them. */
export function chunkAt(index: number): string {
  const at = (index % CHUNKS) * CHUNK_CHARACTERS;
  return PROSE.slice(at, at + CHUNK_CHARACTERS);
}

/** Yields chunks as a model would: a few, then a turn of the event loop; or one at a time with pauses. */
export async function eachChunk(
  { kind, chunks }: Work,
  take: (text: string, index: number) => Promise<void> | void,
): Promise<void> {
  for (let index = 0; index < chunks; index += 1) {
    if (kind === 'late') await delay(LATE_MS);
    await take(chunkAt(index), index);
    if (kind === 'paced') await delay(PACE_MS);
    else if (index % CHUNKS_PER_TURN === CHUNKS_PER_TURN - 1) await nextTurn();
  }
}
