import { MIB, count, group, seconds } from '../core/fields.js';

export const parsing = group(
  'Reading HTML, PDF and archives from outside, in processes apart from the server.',
  {
    timeoutSeconds: seconds(20, 'The longest time to read one file or page.'),
    maxMemoryBytes: count(512 * MIB, 'The most memory of one process, in bytes.', { min: 128 * MIB }),
    processes: count(2, 'The most processes at once. Each owner has one at most; the other files wait.'),
  },
);
