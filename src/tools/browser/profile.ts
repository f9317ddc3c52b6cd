import { execFile } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, readdir, rm, rmdir, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { codeOf } from '../../core/causes.js';
import type { Chromium } from './chromium.js';

/** Where one browser keeps its files, and whom it runs as. */
export interface Profile {
  /** The browser's home: its alone, empty at first. */
  readonly folder: string;
  /** For what playwright keeps of a browser: the server's. */
  readonly artifacts: string;
  /** Goes before the browser's command line; empty where nothing is to be done. */
  readonly prefix: readonly string[];
  /** Removes everything. Never rejects. */
  remove(): Promise<void>;
}

/**
 * The first of the accounts that browsers of a root server run as: one each, with no name and no files. They lie
 * between those that systemd gives out and `nobody`.
 */
const FIRST_UID = 65_520;
/** How many there are. */
export const SLOTS = 14;

const NAME = /^lango-browser-(\d+)-/;
const run = promisify(execFile);

/** A fresh profile for the browser in this slot. A folder of root's round it keeps the browser from swapping it. */
export async function makeProfile({ setpriv }: Chromium, slot: number): Promise<Profile> {
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
  const account = isRoot && setpriv !== undefined ? [setpriv, ...stepDown(uid)] : [];
  const tied = setpriv === undefined ? [] : ['--pdeathsig', 'KILL', '--'];
  const program = account.length > 0 || setpriv === undefined ? account : [setpriv];
  return { folder, artifacts, prefix: [...program, ...tied], remove: () => removeAs(account, outer) };
}

/** Not as root: what lies in a profile was made by a browser. */
async function removeAs(account: readonly string[], outer: string): Promise<void> {
  const profile = join(outer, 'profile');
  const [file = 'rm', ...args] = account.length > 0 ? [...account, '--', 'rm'] : ['rm'];
  await run(file, [...args, '-rf', '--', profile], { cwd: '/' }).catch(() => undefined);
  await rmdir(profile).catch(() => undefined);
  await rm(join(outer, 'artifacts'), { recursive: true, force: true }).catch(() => undefined);
  await rmdir(outer).catch(() => undefined);
}

function stepDown(uid: number): readonly string[] {
  const account = ['--reuid', String(uid), '--regid', String(uid), '--clear-groups'];
  return [...account, '--inh-caps=-all', '--bounding-set=-all', '--no-new-privs'];
}

/** Removes what servers left that were killed. Never rejects. */
export async function sweepProfiles(chromium: Chromium): Promise<void> {
  const folder = tmpdir();
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    const pid = Number(NAME.exec(name)?.[1]);
    const outer = join(folder, name);
    const isOurs = Number.isSafeInteger(pid) && !isAlive(pid) && (await isMine(outer));
    if (isOurs) await removeLeft(chromium, outer);
  }
}

async function removeLeft({ setpriv }: Chromium, outer: string): Promise<void> {
  const { uid = 0 } = await stat(join(outer, 'profile')).catch(() => ({ uid: 0 }));
  const isOther = uid !== 0 && process.getuid?.() === 0 && setpriv !== undefined;
  await removeAs(isOther ? [setpriv, ...stepDown(uid)] : [], outer);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

async function isMine(folder: string): Promise<boolean> {
  const found = await stat(folder).catch(() => undefined);
  return found !== undefined && found.isDirectory() && found.uid === process.getuid?.();
}
