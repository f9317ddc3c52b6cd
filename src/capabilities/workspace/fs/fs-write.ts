import { z } from 'zod';
import { LangoError } from '../../../core/errors.js';
import { counted } from '../../../core/text.js';
import { defineTool, type Tool, type ToolOutput } from '../../../core/tool.js';
import { assertFile, assertSize, describeType, readWhole, replaceFile, syncFolder } from './files.js';
import { ENTRY_BYTES } from '../../../disk/disk-use.js';
import { pathArgument, pathField } from './paths.js';
import type { PathTarget, Workspace } from './workspace.js';

const LINE_FEED = 10;

const ATTACHMENT = 'Writes the file of this name that the user sent, in place of content';

export function writeTool(workspace: Workspace, maxBytes: number): Tool {
  return defineTool({
    name: 'fs_write',
    description:
      'Creates a text file or replaces its whole content. The mode "append" adds a line at the end, "folder" makes a folder. ' +
      'To change a part of a file, use fs_edit.',
    schema: z.strictObject({
      path: pathField('Missing folders are made'),
      content: z.string().optional().describe('None for a folder'),
      attachment: z.string().optional().describe(ATTACHMENT),
      mode: z.enum(['replace', 'append', 'folder']).optional().describe('replace by default'),
    }),
    effect: 'unsafe',
    // The file does not show whether an append happened: it may have ended with the same text before.
    effectOf: ({ mode }) => (mode === 'append' ? 'unsafe' : 'keyed'),
    danger: 'moderate',
    execute({ path, content: text, attachment, mode = 'replace' }, context) {
      const given = [text, attachment].filter((each) => each !== undefined).length;
      if (given !== (mode === 'folder' ? 0 : 1) || (mode === 'append' && text === '')) {
        const problem = 'content: replace and append require it, or an attachment; folder does not take it.';
        throw new LangoError('invalid-input', problem);
      }
      const content = (attachment === undefined ? text : context.attachment?.(attachment)) ?? '';
      assertSize('content', content, maxBytes);
      return workspace.change(context, pathArgument(path), async (access) => {
        context.signal.throwIfAborted();
        const target = await access.target(pathArgument(path), { follow: true, make: true });
        const { folder, name, existing } = target;
        const shown = access.displayPath(target.path);
        if (mode === 'folder') {
          const make = () => access.makeFolder(folder, name);
          return makeFolder(target, shown, () => workspace.budget.spend(context, ENTRY_BYTES, make));
        }
        if (existing !== undefined) assertFile(existing, shown);
        const isKept = mode === 'append' && existing !== undefined;
        const before = isKept ? await readWhole(existing, shown, maxBytes) : Buffer.alloc(0);
        const isMidLine = before.length > 0 && before.at(-1) !== LINE_FEED;
        const added = [Buffer.from(isMidLine ? '\n' : ''), Buffer.from(content)];
        const whole = isKept ? Buffer.concat([before, ...added]) : content;
        assertSize('content', whole, maxBytes);
        await replaceFile(target, whole, { context, workspace });
        const done = mode === 'append' ? 'added' : 'wrote';
        return { content: `${done} ${counted(Buffer.byteLength(content), 'byte')} to ${shown}` };
      });
    },
  });
}

async function makeFolder(
  { folder, existing }: PathTarget,
  shown: string,
  make: () => Promise<unknown>,
): Promise<ToolOutput> {
  if (existing?.stats.isDirectory()) return { content: `${shown} already exists` };
  if (existing !== undefined)
    throw new LangoError('conflict', `path: "${shown}" is ${describeType(existing)}; choose another name.`);
  await make();
  await syncFolder(folder);
  return { content: `created the folder ${shown}` };
}
