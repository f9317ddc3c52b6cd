import { isUtf8 } from 'node:buffer';
import type { FileHandle } from 'node:fs/promises';
import { z } from 'zod';
import { LangoError } from '../../../core/errors.js';
import { counted } from '../../../core/text.js';
import { defineTool, type Tool } from '../../../core/tool.js';
import { binaryKind, SAMPLE_BYTES } from '../../../disk/file-kind.js';
import { openFile } from './files.js';
import { pathArgument, pathField } from './paths.js';
import type { Workspace } from './workspace.js';

const LINES_DEFAULT = 2_000;

export function readTool(workspace: Workspace, maxBytes: number): Tool {
  return defineTool({
    name: 'fs_read',
    description:
      'Reads a text file, a long one in pages: the note at the end gives the next offset. For a binary file, returns its ' +
      'type and size.',
    schema: z.strictObject({
      path: pathField(),
      offset: z.number().int().min(1).optional().describe('First line, from 1'),
      limit: z.number().int().min(1).optional().describe(`Lines; ${LINES_DEFAULT} by default`),
    }),
    effect: 'pure',
    bringsOutside: true,
    execute: ({ path, offset = 1, limit = LINES_DEFAULT }, { signal, ...scope }) =>
      workspace.read(scope, pathArgument(path), async (access) => {
        const opened = await access.find(pathArgument(path));
        const shown = access.displayPath(opened.path);
        await using handle = await openFile(opened, shown);
        const { buffer, bytesRead } = await handle.read(Buffer.alloc(SAMPLE_BYTES), 0, SAMPLE_BYTES, 0);
        const kind = binaryKind(buffer.subarray(0, bytesRead));
        if (kind === undefined) {
          const page = await readLines(handle, { offset, limit, maxBytes, signal });
          return { content: describePage(shown, offset, page) };
        }
        const about = `${kind}, ${counted(opened.stats.size, 'byte')}`;
        return { content: `${shown} is a binary file, ${about}; fs_read shows text only.` };
      }),
  });
}

function describePage(
  shown: string,
  offset: number,
  { bytes, lines, seen, hasMore, isCut }: Awaited<ReturnType<typeof readLines>>,
): string {
  if (lines === 0) {
    if (offset === 1) return `${shown} is empty.`;
    const problem = `offset: ${offset} is past the end; ${shown} has ${counted(seen, 'line')}.`;
    throw new LangoError('invalid-input', problem);
  }
  const text = bytes.toString('utf8');
  const notes = [
    isCut && `line ${offset} is longer than a page and is cut here`,
    !isUtf8(bytes) && 'not all of it is UTF-8 text: invalid bytes are shown as \uFFFD',
    hasMore && `lines ${offset}-${offset + lines - 1}; continue with offset ${offset + lines}`,
  ].filter((note) => note !== false);
  return notes.length === 0 ? text : `${text.replace(/\n$/, '')}\n[${notes.join('; ')}]`;
}

/** `offset`: the first line, counted from 1. */
type LineRange = Readonly<Record<'offset' | 'limit' | 'maxBytes', number> & { signal: AbortSignal }>;

const CHUNK_BYTES = 64 * 1024;
const LINE_FEED = 10;

/**
 * Reads whole lines with their line breaks; a single line longer than `maxBytes` is cut. `lines` counts those of the page, a
 * cut one included, and `seen` those up to its end. Finds the page by its positions, and keeps no more than a page in memory.
 */
async function readLines(handle: FileHandle, { offset, limit, maxBytes, signal }: LineRange) {
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  let [at, start, end, lines, seen] = [0, 0, 0, 0, 0];
  let hasMore = false;
  const endLine = (position: number): void => {
    seen += 1;
    if (seen < offset) start = position;
    else lines += 1;
    end = position;
  };
  for (let size = CHUNK_BYTES; size > 0 && !hasMore; at += size) {
    signal.throwIfAborted();
    size = (await handle.read(chunk, 0, CHUNK_BYTES, at)).bytesRead;
    for (let from = 0; from < size && !hasMore;) {
      const feed = chunk.subarray(0, size).indexOf(LINE_FEED, from);
      from = feed === -1 ? size : feed + 1;
      hasMore = lines === limit || (seen + 1 >= offset && at + from - start > maxBytes);
      if (feed !== -1 && !hasMore) endLine(at + from);
    }
  }
  const isCut = hasMore && lines === 0;
  if (isCut || (!hasMore && at > end)) endLine(isCut ? start + maxBytes : at);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(end - start), 0, end - start, start);
  return { bytes: buffer.subarray(0, bytesRead), lines, seen, hasMore, isCut };
}
