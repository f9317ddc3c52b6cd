import { z } from 'zod';
import { LangoError } from '../../../core/errors.js';
import { counted } from '../../../core/text.js';
import { defineTool, type Tool, type ToolOutput } from '../../../core/tool.js';
import { assertFile, assertSize, describeType, readWhole, replaceFile, syncFolder } from './files.js';
import { ENTRY_BYTES } from '../../../disk/disk-use.js';
import { pathArgument, pathField } from './paths.js';
import type { PathTarget, Workspace, WorkspaceAccess } from './workspace.js';

const LINE_FEED = 10;

const ATTACHMENT = 'Writes the file of this name that the user sent, in place of content';

const schema = z.strictObject({
  path: pathField('Missing folders are made'),
  content: z.string().optional().describe('None for a folder'),
  attachment: z.string().optional().describe(ATTACHMENT),
  mode: z.enum(['replace', 'append', 'folder']).optional().describe('replace by default'),
});

interface WriteRequest {
  readonly access: WorkspaceAccess;
  readonly target: PathTarget;
  /** The path of the target for the model. */
  readonly shown: string;
  readonly content: string | Buffer;
  readonly maxBytes: number;
  readonly call: Parameters<typeof replaceFile>[2];
}

const MODES = { replace, append, folder: makeFolder } as const;

export function writeTool(workspace: Workspace, maxBytes: number): Tool {
  return defineTool({
    name: 'fs_write',
    description:
      'Creates a text file or replaces its whole content. The mode "append" adds a line at the end, "folder" makes a folder. ' +
      'To change a part of a file, use fs_edit.',
    schema,
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
        const call = { context, workspace };
        const target = await access.target(pathArgument(path), { follow: true, make: true });
        const shown = access.displayPath(target.path);
        return MODES[mode]({ access, target, shown, content, maxBytes, call });
      });
    },
  });
}

async function replace({ target, shown, content, call }: WriteRequest): Promise<ToolOutput> {
  if (target.existing !== undefined) assertFile(target.existing, shown);
  await replaceFile(target, content, call);
  return { content: `wrote ${counted(Buffer.byteLength(content), 'byte')} to ${shown}` };
}

async function append({ target, shown, content, maxBytes, call }: WriteRequest): Promise<ToolOutput> {
  const before = target.existing ? await readWhole(target.existing, shown, maxBytes) : Buffer.alloc(0);
  const isMidLine = before.length > 0 && before.at(-1) !== LINE_FEED;
  const whole = Buffer.concat([before, Buffer.from(isMidLine ? '\n' : ''), Buffer.from(content)]);
  assertSize('content', whole, maxBytes);
  await replaceFile(target, whole, call);
  return { content: `added ${counted(Buffer.byteLength(content), 'byte')} to ${shown}` };
}

async function makeFolder({ access, target, shown, call }: WriteRequest): Promise<ToolOutput> {
  const { folder, name, existing } = target;
  if (existing?.stats.isDirectory()) return { content: `${shown} already exists` };
  if (existing !== undefined)
    throw new LangoError('conflict', `path: "${shown}" is ${describeType(existing)}; choose another name.`);
  await call.workspace.budget.spend(call.context, ENTRY_BYTES, () => access.makeFolder(folder, name));
  await syncFolder(folder);
  return { content: `created the folder ${shown}` };
}
