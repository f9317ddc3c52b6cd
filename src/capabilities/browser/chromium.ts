import { delimiter, join } from 'node:path';
import { LangoError } from '../../core/errors.js';
import { findProgram, isExecutable, isInstalled } from '../../disk/programs.js';

/** A Chromium executable and how to start it. */
export interface Chromium {
  readonly executable: string;
  /** Whether Chromium uses its own sandbox. */
  readonly sandbox: boolean;
  /** Path of util-linux's setpriv, which drops privileges and ends the browser with the server. Root requires it. */
  readonly setpriv: string | undefined;
}

interface ChromiumSearch {
  /** The configured executable. When absent, `findChromium` searches for one. */
  readonly executable?: string;
  readonly sandbox: boolean;
  /** The server's PATH, searched after the system's folders. */
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

/** Finds a Chromium without starting it. Rejects with `unavailable` and advice when a browser cannot run here. */
export async function findChromium(search: ChromiumSearch): Promise<Chromium> {
  if (!isInstalled('playwright-core')) {
    const problem = 'The package playwright-core, which drives the browser, is not installed.';
    const hint = 'Install it next to lango: npm install playwright-core';
    throw new LangoError('unavailable', problem, { hint });
  }
  const executable = await findExecutable(search);
  const setpriv = await findProgram('setpriv');
  if (setpriv === undefined && process.getuid?.() === 0) {
    const problem =
      'The browser must not run as root, and setpriv, which drops privileges, is not installed.';
    const hint = 'Run: apt install util-linux. Or run the server as an ordinary user.';
    throw new LangoError('unavailable', problem, { hint });
  }
  return { executable, sandbox: search.sandbox, setpriv };
}

async function findExecutable({ executable, path }: ChromiumSearch): Promise<string> {
  if (executable !== undefined) {
    if (await isExecutable(executable)) return executable;
    const hint = 'Correct tools.browser.executable, or remove it to let Lango search for Chromium.';
    throw new LangoError('unavailable', `${executable} is not an executable file.`, { hint });
  }
  for (const name of NAMES) {
    const found = await findProgram(name);
    if (found !== undefined) return found;
  }
  const folders = path.split(delimiter).filter((folder) => folder.startsWith('/'));
  const onPath = folders.flatMap((folder) => NAMES.map((name) => join(folder, name)));
  for (const candidate of [...KNOWN_PATHS, ...onPath]) if (await isExecutable(candidate)) return candidate;
  const hint = 'Run: apt install chromium. Or set tools.browser.executable.';
  throw new LangoError('unavailable', 'Chromium was not found.', { hint });
}
