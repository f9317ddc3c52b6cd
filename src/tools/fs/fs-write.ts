import { z } from 'zod';
import { LangoError } from '../../core/errors.js';
import { counted } from '../../core/text.js';
import { defineTool, type Tool } from '../../core/tool.js';
import { pathArgument, pathField } from './fields.js';
import { assertFile, replaceFile } from './files.js';
import type { Workspace } from './workspace.js';

const WRITE_TIME_MS = 30_000;

const writeSchema = z.strictObject({
  path: pathField('The file; missing folders are made'),
  content: z.string().describe('The whole new content'),
});

export function writeTool(workspace: Workspace, maxBytes: number): Tool {
  return defineTool({
    name: 'fs_write',
    description:
      'Writes a text file: makes it, or replaces its whole content. To change a part of a file use fs_edit.',
    schema: writeSchema,
    effect: 'keyed', // The whole content is in the call: once or twice is the same file.
    danger: () => 'moderate',
    timeoutMs: () => WRITE_TIME_MS,
    examples: [
      { text: 'write {content} to {path}' },
      { text: 'write {content} into {path}' },
      { text: 'create a file {path} with {content}' },
      { text: 'create a file {path} containing {content}' },
      { text: 'create a file {path} that says {content}' },
      { text: 'create a file {path} with the text {content}' },
      { text: 'write a file {path} with {content}' },
      { text: 'write a file {path} with the text {content}' },
      { text: 'put {content} into the file {path}' },
      { text: 'put {content} in the file {path}' },
      { text: 'save {content} in {path}' },
      { text: 'save {content} to {path}' },
    ],
    execute({ path, content }, { key, signal }) {
      const bytes = Buffer.byteLength(content);
      if (bytes > maxBytes) {
        throw new LangoError(
          'too-large',
          `content: it has ${bytes} bytes; at most ${maxBytes} can be written.`,
        );
      }
      return workspace.change(pathArgument(path), async (visit) => {
        signal.throwIfAborted();
        const spot = await visit.spot(pathArgument(path), { follow: true, make: true });
        const shown = visit.show(spot.path);
        if (spot.place !== undefined) assertFile(spot.place, shown);
        await replaceFile(spot, content, key);
        return { content: `wrote ${counted(bytes, 'byte')} to ${shown}` };
      });
    },
  });
}
