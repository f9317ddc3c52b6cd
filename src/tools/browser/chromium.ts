import { delimiter, join } from 'node:path';
import { LangoError } from '../../core/errors.js';
import { findProgram, isExecutable, isInstalled } from '../programs.js';

/** A Chromium that can be started, and how. */
export interface Chromium {
  readonly executable: string;
  /** Whether its own sandbox is used. */
  readonly sandbox: boolean;
  /** util-linux's setpriv: gives privileges up, and ends the browser with the server. Root cannot do without. */
  readonly setpriv: string | undefined;
}

export interface ChromiumSearch {
  /** As configured; found by itself when absent. */
  readonly executable?: string;
  readonly sandbox: boolean;
  /** The server's PATH, looked at after the system's folders. */
  readonly path: string;
}

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const KNOWN_PATHS = [
  '/usr/lib/chromium/chromium',
  '/snap/bin/chromium',
  '/opt/google/chrome/chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** Starts nothing. Rejects with `unavailable` and what to do when a browser cannot run here. */
export async function findChromium(search: ChromiumSearch): Promise<Chromium> {
  if (!isInstalled('playwright-core')) {
    throw new LangoError('unavailable', 'playwright-core, which drives the browser, is not installed.', {
      hint: 'npm install playwright-core, next to lango.',
    });
  }
  const executable = await findExecutable(search);
  const setpriv = await findProgram('setpriv');
  if (setpriv === undefined && process.getuid?.() === 0) {
    throw new LangoError('unavailable', 'The browser does not run as root, and setpriv is not installed.', {
      hint: 'apt install util-linux, or run the server as an ordinary user.',
    });
  }
  return { executable, sandbox: search.sandbox, setpriv };
}

async function findExecutable({ executable, path }: ChromiumSearch): Promise<string> {
  if (executable !== undefined) {
    if (await isExecutable(executable)) return executable;
    throw new LangoError('unavailable', `${executable} is not a program that can be started.`, {
      hint: 'Correct tools.browser.executable, or leave it out to have Chromium found.',
    });
  }
  for (const name of NAMES) {
    const found = await findProgram(name);
    if (found !== undefined) return found;
  }
  const folders = path.split(delimiter).filter((folder) => folder.startsWith('/'));
  for (const place of [
    ...KNOWN_PATHS,
    ...folders.flatMap((folder) => NAMES.map((name) => join(folder, name))),
  ]) {
    if (await isExecutable(place)) return place;
  }
  throw new LangoError('unavailable', 'no Chromium was found.', {
    hint: 'apt install chromium, or set tools.browser.executable.',
  });
}
