import { commandLine } from '../command-line.js';
import { LONGEST_WORK_MS } from '../watchdog.js';

/**
 * `npm run abuse`: sends hostile input of every kind to its own servers over loopback, each a process with a watchdog.
 * `npm run abuse -- fuzz` is the other program of this folder: it makes its requests up.
 */
if (process.argv[2] === 'fuzz') await import('./fuzz/main.js');

const values = commandLine(
  'abuse',
  'Sends hostile input of every kind to servers of its own, over loopback. `npm run abuse -- fuzz` makes requests up.',
  {
    only: { default: '', text: 'names of corpora, with commas; without it all but pages and scripts' },
    work: { default: LONGEST_WORK_MS, text: 'the bound on the work of the event loop, in milliseconds' },
    slow: { default: Infinity, text: 'tells of each case that took longer, in milliseconds' },
    json: { default: false, text: 'prints the figures as JSON' },
  },
);
// Imported here, because the cases take a second to make.
const { attack } = await import('./attack.js');
await attack(values);
