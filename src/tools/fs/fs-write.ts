import { z } from 'zod';
import { LangoError } from '../../core/errors.js';
import { counted } from '../../core/text.js';
import { defineTool, type Tool } from '../../core/tool.js';
import { assertFile, describeType, readWhole, replaceFile, syncFolder } from './files.js';
import { pathArgument, pathField } from './paths.js';
import type { Workspace } from './workspace.js';

const writeSchema = z.strictObject({
  path: pathField('The file. Missing folders are created'),
  content: z.string().describe('The whole new content'),
});

export function writeTool(workspace: Workspace, maxBytes: number): Tool {
  return defineTool({
    name: 'fs_write',
    description:
      'Writes a text file: creates it or replaces its whole content. To change a part of a file, use fs_edit.',
    schema: writeSchema,
    effect: 'keyed', // The call contains the whole content, so writing twice gives the same file.
    danger: 'moderate',
    execute({ path, content }, { key, signal }) {
      const bytes = Buffer.byteLength(content);
      if (bytes > maxBytes) {
        throw new LangoError(
          'too-large',
          `content: it has ${bytes} bytes; at most ${maxBytes} can be written.`,
        );
      }
      return workspace.change(pathArgument(path), async (access) => {
        signal.throwIfAborted();
        const target = await access.target(pathArgument(path), { follow: true, make: true });
        const shown = access.displayPath(target.path);
        if (target.existing !== undefined) assertFile(target.existing, shown);
        await replaceFile(target, content, key);
        return { content: `wrote ${counted(bytes, 'byte')} to ${shown}` };
      });
    },
  });
}

const LINE_FEED = 10;

const appendSchema = z.strictObject({
  path: pathField('The file. It is created if it does not exist'),
  content: z.string().min(1).describe('The text to add'),
});

export function appendTool(workspace: Workspace, maxBytes: number): Tool {
  return defineTool({
    name: 'fs_append',
    description: 'Appends text to the end of a file, on a line of its own.',
    schema: appendSchema,
    effect: 'unsafe', // Whether the append happened cannot be seen in the file: the same text may have ended it before.
    danger: 'moderate',
    execute: ({ path, content }, { key, signal }) =>
      workspace.change(pathArgument(path), async (access) => {
        signal.throwIfAborted();
        const target = await access.target(pathArgument(path), { follow: true, make: true });
        const shown = access.displayPath(target.path);
        const before = target.existing ? await readWhole(target.existing, shown, maxBytes) : Buffer.alloc(0);
        const isMidLine = before.length > 0 && before.at(-1) !== LINE_FEED;
        const added = Buffer.from(isMidLine ? `\n${content}` : content);
        assertSize(before.length + added.length, maxBytes);
        await replaceFile(target, Buffer.concat([before, added]), key);
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

const mkdirSchema = z.strictObject({
  path: pathField('The new folder. Missing parent folders are created too'),
});

export function mkdirTool(workspace: Workspace): Tool {
  return defineTool({
    name: 'fs_mkdir',
    description: 'Creates a folder. Succeeds if the folder already exists.',
    schema: mkdirSchema,
    effect: 'keyed',
    danger: 'moderate',
    execute: ({ path }, { signal }) =>
      workspace.change(pathArgument(path), async (access) => {
        signal.throwIfAborted();
        const { folder, name, existing, ...target } = await access.target(pathArgument(path), {
          follow: true,
          make: true,
        });
        const shown = access.displayPath(target.path);
        if (existing?.stats.isDirectory()) return { content: `${shown} already exists` };
        if (existing !== undefined) {
          throw new LangoError(
            'conflict',
            `path: "${shown}" is ${describeType(existing)}; choose another name.`,
          );
        }
        await access.makeFolder(folder, name);
        await syncFolder(folder);
        return { content: `created the folder ${shown}` };
      }),
  });
}
