import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { LangoError } from '../../core/errors.js';
import { counted } from '../../core/text.js';
import { defineTool, type Tool } from '../../core/tool.js';
import { pathArgument, pathField } from './fields.js';
import { binaryKind, SAMPLE_BYTES } from '../file-kind.js';
import { openFile } from './files.js';
import { readLines, type LinePage } from './lines.js';
import type { Workspace } from './workspace.js';

const READ_TIME_MS = 30_000;
const LINES_DEFAULT = 2_000;

const schema = z.strictObject({
  path: pathField('The file'),
  offset: z.number().int().min(1).optional().describe('The first line to read, counted from 1'),
  limit: z
    .number()
    .int()
    .min(1)
    .optional()
    .describe(`How many lines to read at most; ${LINES_DEFAULT} by default`),
});

export function readTool(workspace: Workspace, maxBytes: number): Tool {
  return defineTool({
    name: 'fs_read',
    description:
      'Reads a text file. A long one comes in pages: the note at the end says with which offset to continue. ' +
      'Of a binary file it tells type and size.',
    schema,
    effect: 'pure',
    danger: () => 'safe',
    bringsOutside: true,
    timeoutMs: () => READ_TIME_MS,
    examples: [
      { text: 'read {path}' },
      { text: 'show the file {path}' },
      { text: 'open the file {path}' },
      { text: 'what is in the file {path}' },
      { text: 'show what is in the file {path}' },
      { text: 'what is the content of the file {path}' },
      { text: 'what does the file {path} say' },
      { text: 'what does the file {path} contain' },
      { text: 'cat {path}' },
    ],
    execute: ({ path, offset = 1, limit = LINES_DEFAULT }, { signal }) =>
      workspace.visit(pathArgument(path), async (visit) => {
        const place = await visit.find(pathArgument(path));
        const shown = visit.show(place.path);
        const handle = await openFile(place, shown);
        try {
          const { buffer, bytesRead } = await handle.read(Buffer.alloc(SAMPLE_BYTES), 0, SAMPLE_BYTES, 0);
          const kind = binaryKind(buffer.subarray(0, bytesRead));
          if (kind !== undefined) return { content: describeBinary(shown, kind, place.stats.size) };
          const page = await readLines(handle, { offset, limit, maxBytes, signal });
          return { content: describePage(shown, offset, page) };
        } finally {
          await handle.close();
        }
      }),
  });
}

function describeBinary(shown: string, kind: string, bytes: number): string {
  return `${shown} is a binary file, ${kind}, ${counted(bytes, 'byte')}; fs_read shows text only.`;
}

function describePage(
  shown: string,
  offset: number,
  { bytes, lines, seen, hasMore, isCut }: LinePage,
): string {
  if (lines === 0 && offset > 1) {
    throw new LangoError(
      'invalid-input',
      `offset: ${offset} is past the end; ${shown} has ${counted(seen, 'line')}.`,
    );
  }
  if (lines === 0) return `${shown} is empty.`;
  const text = bytes.toString('utf8');
  const notes = [
    ...(isCut ? [`line ${offset} is longer than a page and is cut here`] : []),
    ...(!isUtf8(bytes) ? ['not all of it is UTF-8 text: what is not is shown as \uFFFD'] : []),
    ...(hasMore ? [`lines ${offset}-${offset + lines - 1}; continue with offset ${offset + lines}`] : []),
  ];
  return notes.length === 0 ? text : `${text.replace(/\n$/, '')}\n[${notes.join('; ')}]`;
}
