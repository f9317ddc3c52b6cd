import { execFile } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, readdir, rm, rmdir, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { codeOf, errorText, LangoError } from '../../core/errors.js';
import { pause } from '../../core/time.js';
import { droppedRights, findProgram, isAlive, isExecutable, isInstalled } from '../../disk/programs.js';

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

/** The files of one browser and the account that it runs as. */
export interface ProfileFiles {
  /** The home folder of the browser, used by it alone and empty at first. */
  readonly folder: string;
  /** The folder for Playwright's own files; it belongs to the server. */
  readonly artifacts: string;
  /** Prefix of the command line; empty when no privileges have to be dropped. */
  readonly prefix: readonly string[];
}

export interface Profile extends ProfileFiles {
  /** Removes all files. Never rejects. */
  remove(): Promise<void>;
}

/**
 * The first of the user ids that browsers of a root server run as, one for each browser. The ids have no account and own no
 * other files. They lie between those that systemd assigns and `nobody`.
 */
const FIRST_UID = 65_520;
/** Number of these user ids. */
export const SLOTS = 14;

const NAME = /^lango-browser-(\d+)-/;
const run = promisify(execFile);

/** Creates an empty profile for the browser in this slot, in a folder of root, so that the browser cannot replace it. */
export async function createProfile({ setpriv }: Chromium, slot: number): Promise<Profile> {
  const outer = await mkdtemp(join(tmpdir(), `lango-browser-${process.pid}-`));
  const folder = join(outer, 'profile');
  const artifacts = join(outer, 'artifacts');
  await mkdir(folder, { mode: 0o700 });
  await mkdir(artifacts, { mode: 0o700 });
  const isRoot = process.getuid?.() === 0;
  const uid = FIRST_UID + slot;
  if (isRoot) {
    await chmod(outer, 0o711);
    await chown(folder, uid, uid);
  }
  const account = isRoot && setpriv !== undefined ? [setpriv, ...droppedRights(uid, uid)] : [];
  const endsWithServer = ['--pdeathsig', 'KILL', '--'];
  const prefix = setpriv === undefined ? [] : [...(isRoot ? account : [setpriv]), ...endsWithServer];
  return { folder, artifacts, prefix, remove: () => removeAs(account, outer) };
}

const REMOVE_TRIES = 10;
const REMOVE_PAUSE_MS = 100;

/**
 * Removes the profile with the rights of `account` and never as root, because a browser created its content. Retries,
 * because a killed browser may still write for a moment.
 */
async function removeAs(account: readonly string[], outer: string): Promise<void> {
  const profile = join(outer, 'profile');
  const [file = 'rm', ...args] = account.length > 0 ? [...account, '--', 'rm'] : ['rm'];
  for (let tries = 1; tries <= REMOVE_TRIES; tries += 1) {
    await run(file, [...args, '-rf', '--', profile], { cwd: '/' }).catch(() => undefined);
    await rmdir(profile).catch(() => undefined);
    await rm(join(outer, 'artifacts'), { recursive: true, force: true }).catch(() => undefined);
    const problem = await rmdir(outer).then(() => undefined, codeOf);
    if (problem === undefined || problem === 'ENOENT') return;
    await pause(REMOVE_PAUSE_MS);
  }
}

/** Removes the profiles that killed servers left behind. Never rejects. */
export async function removeStaleProfiles({ setpriv }: Chromium): Promise<void> {
  const folder = tmpdir();
  for (const name of await readdir(folder).catch(() => [])) {
    const pid = Number(NAME.exec(name)?.[1]);
    const outer = join(folder, name);
    if (!Number.isSafeInteger(pid) || isAlive(pid) || !(await isMine(outer))) continue;
    const { uid } = await stat(join(outer, 'profile')).catch(() => ({ uid: 0 }));
    const isOther = uid !== 0 && process.getuid?.() === 0 && setpriv !== undefined;
    await removeAs(isOther ? [setpriv, ...droppedRights(uid, uid)] : [], outer);
  }
}

async function isMine(folder: string): Promise<boolean> {
  const found = await stat(folder).catch(() => undefined);
  return found !== undefined && found.isDirectory() && found.uid === process.getuid?.();
}

const START_MS = 20_000;
/** Script memory of one page. */
const HEAP_MB = 512;

/** Features that send requests of their own, or change those of a page. */
const DISABLED_FEATURES = [
  ...['AutofillServerCommunication', 'DialMediaRouteProvider', 'GlobalMediaControls', 'MediaRouter'],
  ...['HttpsFirstBalancedModeAutoEnable', 'HttpsUpgrades', 'InterestFeedContentSuggestions'],
  ...['NetworkTimeServiceQuerying', 'OptimizationHints', 'PreconnectToSearch', 'Prerender2', 'Translate'],
];

/** Flags that disable background traffic, connections that bypass the proxy, and persistent state. */
const FLAGS = [
  ...['--headless', '--remote-debugging-pipe', '--no-startup-window', '--hide-scrollbars', '--mute-audio'],
  ...['--no-first-run', '--no-default-browser-check', '--no-service-autorun', '--no-pings'],
  ...['--disable-gpu', '--disable-quic', '--disable-sync', '--disable-breakpad', '--disable-crash-reporter'],
  ...['--disable-extensions', '--disable-default-apps', '--disable-component-update'],
  ...['--disable-component-extensions-with-background-pages', '--disable-background-networking'],
  ...['--disable-back-forward-cache', '--disable-client-side-phishing-detection'],
  ...['--disable-domain-reliability', '--disable-search-engine-choice-screen', '--disable-notifications'],
  ...['--disable-field-trial-config', '--disable-dev-shm-usage', '--disable-print-preview'],
  ...['--deny-permission-prompts', '--metrics-recording-only', '--password-store=basic'],
  ...['--use-mock-keychain', '--force-color-profile=srgb', '--renderer-process-limit=8'],
  `--js-flags=--max-old-space-size=${HEAP_MB}`,
  '--webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  // The proxy resolves names; the browser never does.
  '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
  `--disable-features=${DISABLED_FEATURES.join(',')}`,
];

const SANDBOX_PROBLEM = /No usable sandbox|namespace sandbox failed|credentials\.cc|zygote_host_impl/i;
const SANDBOX_HINT =
  'Allow user namespaces (in a container: seccomp=unconfined, or a profile that permits them). As a last resort set tools.browser.sandbox: false.';
const START_HINT = 'Start the program by hand to see its error, and check tools.browser.executable.';

/** Starts a browser in its profile with the proxy at `port` as its only connection. Rejects with `unavailable`. */
export async function launchChromium(
  { executable, sandbox }: Chromium,
  { prefix, folder, artifacts }: ProfileFiles,
  port: number,
): Promise<Browser> {
  const { chromium } = await import('playwright-core');
  const [executablePath, ...args] = [
    ...prefix,
    executable,
    ...FLAGS,
    `--user-data-dir=${folder}`,
    `--proxy-server=http://127.0.0.1:${port}`,
    '--proxy-bypass-list=<-loopback>',
    ...(sandbox ? [] : ['--no-sandbox']),
  ];
  try {
    return await chromium.launch({
      executablePath: executablePath!,
      args,
      ignoreDefaultArgs: true,
      artifactsDir: artifacts,
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: folder, TMPDIR: folder, LANG: 'C.UTF-8' },
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
      timeout: START_MS,
    });
  } catch (cause) {
    if (!SANDBOX_PROBLEM.test(errorText(cause)))
      throw new LangoError('unavailable', 'Chromium could not be started.', { cause, hint: START_HINT });
    const problem = 'Chromium cannot set up its sandbox on this machine.';
    throw new LangoError('unavailable', problem, { cause, hint: SANDBOX_HINT });
  }
}
