import { randomBytes } from 'node:crypto';

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
    counter = randomBytes(2).readUInt16BE() & 0x7ff;
  } else if (++counter > 0xfff) {
    lastMs += 1;
    counter = 0;
  }
  const time = lastMs.toString(16).padStart(12, '0');
  const random = randomBytes(8);
  random[0] = (random[0]! & 0x3f) | 0x80;
  const tail = random.toString('hex');
  const seq = counter.toString(16).padStart(3, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${seq}-${tail.slice(0, 4)}-${tail.slice(4)}`;
}
