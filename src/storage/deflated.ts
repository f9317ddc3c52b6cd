import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { EventType } from '../core/task.js';
import { damagedTask } from './rows.js';

/**
 * Words of many texts and the beginnings of events, the most frequent ones last: what a short text shares with these takes
 * a few bits. Rows cannot be read without it, so it is never edited.
 */
const DICTIONARY = Buffer.from(
  [
    'information different available following available between because through should example another without number',
    'result value error request answer message first only other which their there these would could about before after',
    'also more than when what where have been does will with from into that this they your need used make each some all',
    'using, however, for example, such as it is you can there are of a in a to be on the for the in the to the of the and',
    'the . The This In If It You For To A \\n\\n## \\n\\n- **: **\\n- \\n1. `, `\\n```\\n',
    '"refusal":"","status":"working","questions":[{"metadata":{"reason":"","parts":[{"kind":"text","text":"',
    '{"type":"delegation-start","step":"t1.c0","callId":"","agent":"","request":"","final":false,"key":"',
    '{"type":"delegation-task","step":"t1.c0","taskId":"',
    '{"type":"delegation-end","step":"t1.c0","agent":"","state":"completed","result":{"id":"","name":"","content":"',
    '{"type":"activity","activity":{"type":"text","text":"","from":["',
    '{"type":"artifact","artifact":{"artifactId":"","name":"","parts":[{"kind":"data","data":{"append":false',
    '{"type":"tool-call","step":"t1.c0","callId":"","tool":"","arguments":{},"effect":"unsafe","key":"',
    '{"type":"tool-result","step":"t1.c0","result":{"id":"","name":"","content":"","isError":false},"fromOutside":true}',
    '{"type":"turn-start","step":"t1"}\n{"type":"turn-end","step":"t1","content":[{"type":"text","text":"',
    '{"type":"function-call","id":"","name":"","arguments":{}}],"stopReason":"function-calls"',
    '"stopReason":"end","usage":{"input":0,"output":0,"cached":0}}',
    '{"type":"run-end","state":"completed","usage":{"input":0,"output":0,"cached":0}}\n["user",',
    ',"replace":false,"isLive":true,"lastChunk":true}\n{"type":"text-delta","artifactId":"t1.c0/answer.1","text":"',
  ].join(' '),
);
/** Shorter texts gain nothing. Longer ones would hold up the event loop; the database compresses them. */
const LEAST_BYTES = 80;
const MOST_CHARACTERS = 32 * 1024;

/** The type of the rows that form chains: what has text is deflated with the texts before it, whose words it shares. */
export const CHAINED_TYPE: EventType = 'text-delta';
const HAS_TEXT = `"type":"${CHAINED_TYPE}"`;
/** Each row of a chain is read with all those before it, so a chain is short. */
const MOST_EARLIER = 11;
const MOST_EARLIER_BYTES = 24 * 1024;
/** Next to no larger than with the default, 6, for less work. */
const LEVEL = 4;

/** The rows of a chain so far, before they were deflated. */
export type Chain = readonly Buffer[];

interface ShortRow {
  /** The text itself; of a deflated row the number of its bytes, and, after a space, of the earlier rows of its chain, if any. */
  readonly body: string;
  readonly deflated: Buffer | null;
}

/** The text of a row for a database that can keep it deflated. Returns the chain that the next row of the task goes on with. */
export function deflated(
  { body, type }: Readonly<{ body: string; type: EventType }>,
  chain: Chain,
): readonly [row: ShortRow, chain: Chain] {
  const whole = { body, deflated: null };
  // Statements read the bodies of messages.
  if (type === 'message' || body.length > MOST_CHARACTERS) return [whole, chain];
  const bytes = Buffer.from(body);
  if (bytes.length < LEAST_BYTES) return [whole, chain];
  const earlier = body.includes(HAS_TEXT) ? chain : [];
  const small = deflateRawSync(bytes, { dictionary: dictionaryOf(earlier), level: LEVEL });
  if (small.length >= bytes.length) return [whole, chain];
  const count = earlier.length > 0 ? ` ${earlier.length}` : '';
  const row = { body: `${bytes.length}${count}`, deflated: small };
  if (type !== CHAINED_TYPE) return [row, chain];
  const next = [...earlier, bytes];
  const size = next.reduce((sum, { length }) => sum + length, 0);
  const isFull = next.length > MOST_EARLIER || size > MOST_EARLIER_BYTES;
  return [row, isFull ? [] : next];
}

/** `earlier`: the other rows of the chain, in order. Throws `LangoError` `storage` for bytes that `deflated` did not make. */
export function inflated(bytes: Buffer, earlier: Chain | null = null): string {
  try {
    const texts: Buffer[] = [];
    for (const each of [...(earlier ?? []), bytes])
      texts.push(inflateRawSync(each, { dictionary: dictionaryOf(texts) }));
    return texts.at(-1)!.toString();
  } catch {
    throw damagedTask('An entry of a task is damaged.');
  }
}

function dictionaryOf(chain: Chain): Buffer {
  return chain.length === 0 ? DICTIONARY : Buffer.concat([DICTIONARY, ...chain]);
}
