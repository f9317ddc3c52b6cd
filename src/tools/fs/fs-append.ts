import { z } from 'zod';
import { LangoError } from '../../core/errors.js';
import { counted } from '../../core/text.js';
import { defineTool, type Tool } from '../../core/tool.js';
import { pathArgument, pathField } from './fields.js';
import { readWhole, replaceFile } from './files.js';
import type { Workspace } from './workspace.js';

const APPEND_TIME_MS = 30_000;
const LINE_FEED = 10;

const appendSchema = z.strictObject({
  path: pathField('The file; it is made when there is none'),
  content: z.string().min(1).describe('The text to add'),
});

export function appendTool(workspace: Workspace, maxBytes: number): Tool {
  return defineTool({
    name: 'fs_append',
    description: 'Adds text at the end of a file, on a line of its own.',
    schema: appendSchema,
    effect: 'unsafe', // The same text may have stood at the end before.
    danger: () => 'moderate',
    timeoutMs: () => APPEND_TIME_MS,
    examples: [
      { text: 'append {content} to {path}' },
      { text: 'add {content} to the file {path}' },
      { text: 'add the line {content} to the file {path}' },
    ],
    execute: ({ path, content }, { key, signal }) =>
      workspace.change(pathArgument(path), async (visit) => {
        signal.throwIfAborted();
        const spot = await visit.spot(pathArgument(path), { follow: true, make: true });
        const shown = visit.show(spot.path);
        const before = spot.place ? await readWhole(spot.place, shown, maxBytes) : Buffer.alloc(0);
        const isMidLine = before.length > 0 && before.at(-1) !== LINE_FEED;
        const added = Buffer.from(isMidLine ? `\n${content}` : content);
        assertSize(before.length + added.length, maxBytes);
        await replaceFile(spot, Buffer.concat([before, added]), key);
        return { content: `added ${counted(Buffer.byteLength(content), 'byte')} to ${shown}` };
      }),
  });
}

function assertSize(bytes: number, maxBytes: number): void {
  if (bytes <= maxBytes) return;
  throw new LangoError(
    'too-large',
    `content: the file would have ${bytes} bytes; at most ${maxBytes} are allowed.`,
  );
}
