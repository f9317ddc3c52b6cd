import { randomBytes } from 'node:crypto';

/** One call gets the random bytes for many ids, because a call for each id would cost more than everything else. */
const POOL_BYTES = 4_096;
let digits = '';
let used = 0;
let lastMs = 0;
let counter = 0;
/** The beginning of the ids of `lastMs`: time and version. */
let prefix = '';

/** Returns a new UUID version 7 (RFC 9562). Ids of one process sort in the order of the calls, so indexes grow at the end. */
export function newId(): string {
  const now = Date.now();
  if (now > lastMs) {
    begin(now);
    counter = parseInt(takeDigits(3), 16) & 0x7ff;
  } else if (++counter > 0xfff) {
    begin(lastMs + 1);
    counter = 0;
  }
  const variant = '89ab'[parseInt(takeDigits(1), 16) & 3]!;
  const seq = counter.toString(16).padStart(3, '0');
  return `${prefix}${seq}-${variant}${takeDigits(3)}-${takeDigits(12)}`;
}

function begin(ms: number): void {
  lastMs = ms;
  const time = ms.toString(16).padStart(12, '0');
  prefix = `${time.slice(0, 8)}-${time.slice(8)}-7`;
}

function takeDigits(count: number): string {
  if (used + count > digits.length) {
    digits = randomBytes(POOL_BYTES).toString('hex');
    used = 0;
  }
  used += count;
  return digits.slice(used - count, used);
}
