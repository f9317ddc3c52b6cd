import { randomFillSync } from 'node:crypto';

/** Random bytes are asked of the system for many ids at a time: one call each costs more than the rest of an id. */
const pool = Buffer.allocUnsafe(4_096);
let used = pool.length;

let lastMs = 0;
let counter = 0;

/**
 * A new id: a UUID version 7 (RFC 9562 section 5.7), 36 characters. Ids made by one process sort in
 * the order they were made, also within a millisecond, so that an index on them only grows at its end.
 */
export function newId(): string {
  const now = Date.now();
  if (now > lastMs) {
    lastMs = now;
    counter = takeRandom(2).readUInt16BE() & 0x7ff;
  } else if (++counter > 0xfff) {
    lastMs += 1;
    counter = 0;
  }
  const time = lastMs.toString(16).padStart(12, '0');
  const random = takeRandom(8);
  random[0] = (random[0]! & 0x3f) | 0x80;
  const tail = random.toString('hex');
  const seq = counter.toString(16).padStart(3, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${seq}-${tail.slice(0, 4)}-${tail.slice(4)}`;
}

/** Bytes that nobody gets again, of a buffer that is filled anew later: to be used up at once. */
function takeRandom(count: number): Buffer {
  if (used + count > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += count;
  return pool.subarray(used - count, used);
}
