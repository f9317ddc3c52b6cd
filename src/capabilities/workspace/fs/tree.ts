import type { Dir } from 'node:fs';
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

export interface TreeOptions {
  readonly recursive: boolean;
  readonly signal: AbortSignal;
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
  options: TreeOptions & { readonly depth?: number },
): AsyncGenerator<TreeEntry> {
  const depth = options.depth ?? 0;
  for (const name of await listNames(folder)) {
    options.signal.throwIfAborted();
    const opened = await access.child(folder, name);
    if (opened === undefined) continue;
    const isEntered =
      options.recursive && opened.stats.isDirectory() && !NOT_ENTERED.has(name) && depth < DEPTH_MAX;
    try {
      yield { opened, name, folder, isEntered };
      if (isEntered) yield* walkTree(access, opened, { ...options, depth: depth + 1 });
    } finally {
      await access.release(opened);
    }
  }
}

/** Names in sorted order; empty for a folder that the server cannot read. */
async function listNames(folder: OpenPath): Promise<string[]> {
  let entries: Dir;
  try {
    entries = await opendir(folder.at);
  } catch (error) {
    if (codeOf(error) === 'EACCES') return [];
    throw error;
  }
  const names: string[] = [];
  for await (const { name } of entries) {
    names.push(name);
    if (names.length === ENTRIES_MAX) break;
  }
  return names.sort();
}
