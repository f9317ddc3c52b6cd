import { readdir } from 'node:fs/promises';
import { invalidCursor, type OwnedData, type OwnedKind, type Page } from '../../../core/page.js';
import type { OpenPath } from '../../../disk/open-path.js';
import { openFile } from './files.js';
import { clearFolder, remove } from './fs-delete.js';
import { pathArgument, undefinedIfMissing } from './paths.js';
import { Workspace, type WorkspaceAccess, type WorkspaceParts } from './workspace.js';

const PART_BYTES = 512 * 1024;
const PAGE_FILES = 500;
const WHOLE = pathArgument('.');
/** The number of the root folder, the offset in a file, and the path of the file in the folder. */
const CURSOR = /^(\d{1,3}) (\d{1,15}) (.+)$/s;

/** Lists, in parts of bounded size, and deletes the files of owners who have separate folders. Does not list links. */
export function createOwnedFiles(parts: WorkspaceParts): OwnedData {
  const workspace = new Workspace(parts);
  const files: OwnedKind = {
    list: (scope, after) => workspace.read(scope, WHOLE, (access) => readPage(access, after)),
    async forget(scope, name) {
      const argument = { name: 'name', value: name };
      const removal = workspace.change(scope, argument, async (access) => {
        const { folder, existing, name } = await access.removable(argument);
        const count = await clearFolder(access, existing);
        await remove(existing, `${folder.at}/${name}`);
        return { files: count + 1 };
      });
      return (await removal.catch(undefinedIfMissing)) ?? { files: 0 };
    },
  };
  return {
    kinds: { files },
    removeAll: (scope) =>
      workspace.change(scope, WHOLE, async (access) => {
        let count = 0;
        for (const root of await access.openRoots()) count += await clearFolder(access, root);
        return { files: count };
      }),
  };
}

async function readPage(access: WorkspaceAccess, after: string): Promise<Page<unknown>> {
  const [, root = '0', offset = '0', from = ''] = CURSOR.exec(after) ?? [];
  if (after !== '' && from === '') throw invalidCursor();
  const items: unknown[] = [];
  let size = 0;
  for (const [index, folder] of (await access.openRoots()).entries()) {
    if (index < Number(root)) continue;
    const start = index === Number(root) ? from : '';
    for await (const { opened, inside } of filesFrom(access, folder, { from: start.split('/') })) {
      const startOffset = start !== '' && inside === start ? Number(offset) : undefined;
      const part = await readPart(access, opened, startOffset);
      if (part === undefined) continue;
      items.push(part.item);
      size += part.length;
      const end = part.item.offset + part.length;
      if (size >= PART_BYTES || items.length >= PAGE_FILES)
        return { items, next: `${index} ${end} ${inside}` };
    }
  }
  return { items, next: undefined };
}

/**
 * Reads the part at `startOffset`, or the first one. `bytes` is the size of the whole file. Resolves with undefined when the
 * file ends there.
 */
async function readPart(access: WorkspaceAccess, opened: OpenPath, startOffset: number | undefined) {
  const path = access.displayPath(opened.path);
  await using handle = await openFile(opened, path);
  const { size: bytes } = await handle.stat();
  const offset = startOffset ?? 0;
  if (startOffset !== undefined && offset >= bytes) return undefined;
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(PART_BYTES), 0, PART_BYTES, offset);
  const base64 = buffer.toString('base64', 0, bytesRead);
  return { item: { path, offset, bytes, base64 }, length: bytesRead };
}

/**
 * Lists the files below a folder in the order of their names, without reading the folders before the first file, to which the
 * names `from` lead. `inside`: the path of the folder inside its root; empty for the root.
 */
async function* filesFrom(
  access: WorkspaceAccess,
  folder: OpenPath,
  { inside = '', from }: { readonly inside?: string; readonly from: readonly string[] },
): AsyncGenerator<{ readonly opened: OpenPath; readonly inside: string }> {
  const [first = '', ...rest] = from;
  for (const name of (await readdir(folder.at)).sort()) {
    const opened = name < first ? undefined : await access.child(folder, name);
    if (opened === undefined) continue;
    const path = inside === '' ? name : `${inside}/${name}`;
    try {
      if (opened.stats.isFile()) yield { opened, inside: path };
      if (opened.stats.isDirectory())
        yield* filesFrom(access, opened, { inside: path, from: name === first ? rest : [] });
    } finally {
      await access.release(opened);
    }
  }
}
