import { opendir } from 'node:fs/promises';
import { codeOf } from '../../../core/errors.js';
import type { OpenPath } from '../../../disk/open-path.js';
import type { WorkspaceAccess } from './workspace.js';

export interface TreeEntry {
  /** Open until the next entry is requested. */
  readonly opened: OpenPath;
  readonly name: string;
  readonly folder: OpenPath;
  /** For a folder: whether the walk descends into it. */
  readonly isEntered: boolean;
}

interface TreeOptions {
  readonly recursive: boolean;
  readonly signal: AbortSignal;
  /** The number of folders between the first one and this one. */
  readonly depth?: number;
}

/** Large folders that a project contains but did not write. */
const NOT_ENTERED = new Set(['.git', 'node_modules']);
const DEPTH_MAX = 64;
/** Maximum entries per folder, because they are sorted in memory; the rest is skipped. */
const ENTRIES_MAX = 20_000;

/** Walks a folder in name order, each folder before its entries. Reports symbolic links without following them. */
export async function* walkTree(
  access: WorkspaceAccess,
  folder: OpenPath,
  { recursive, signal, depth = 0 }: TreeOptions,
): AsyncGenerator<TreeEntry> {
  const mayEnter = recursive && depth < DEPTH_MAX;
  for (const name of await listNames(folder)) {
    signal.throwIfAborted();
    const opened = await access.child(folder, name);
    if (opened === undefined) continue;
    const isEntered = mayEnter && opened.stats.isDirectory() && !NOT_ENTERED.has(name);
    try {
      yield { opened, name, folder, isEntered };
      if (isEntered) yield* walkTree(access, opened, { recursive, signal, depth: depth + 1 });
    } finally {
      await access.release(opened);
    }
  }
}

/** Names in sorted order; empty for a folder that the server cannot read. */
async function listNames(folder: OpenPath): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const { name } of await opendir(folder.at)) {
      names.push(name);
      if (names.length === ENTRIES_MAX) break;
    }
  } catch (error) {
    if (codeOf(error) !== 'EACCES') throw error;
  }
  return names.sort();
}
