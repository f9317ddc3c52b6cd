import { z } from 'zod';
import { LangoError } from '../../../core/errors.js';
import { counted } from '../../../core/text.js';
import { defineTool, type Tool } from '../../../core/tool.js';
import { pathArgument, pathField } from './paths.js';
import { assertFile, assertSize, readWhole, replaceFile } from './files.js';
import { missingPath, type WorkspaceAccess, type Workspace } from './workspace.js';

const schema = z.strictObject({
  path: pathField(),
  oldText: z.string().min(1).describe('Copied exactly; must occur exactly once in the file'),
  newText: z.string(),
});

type EditInput = z.infer<typeof schema>;

export function editTool(workspace: Workspace, maxBytes: number): Tool {
  return defineTool({
    name: 'fs_edit',
    description:
      'Replaces one text in a file with another. Include enough of the surrounding text that oldText occurs once.',
    schema,
    effect: 'queryable',
    danger: 'moderate',
    execute: (input, context) =>
      workspace.change(context, pathArgument(input.path), async (access) => {
        context.signal.throwIfAborted();
        const { target, text, shown } = await load(access, input.path, maxBytes);
        const changed = replaceOnce(text, input, shown);
        assertSize('newText', changed, maxBytes);
        await replaceFile(target, changed, { context, workspace });
        return { content: describe(input, shown) };
      }),
    settle: (input, context) =>
      workspace.read(context, pathArgument(input.path), async (access) => {
        const { text, shown } = await load(access, input.path, maxBytes);
        const [oldText, newText] = withLineBreaksOf(text, input);
        const others = newText.includes(oldText) ? text.replaceAll(newText, '\0') : text;
        if (others.includes(oldText)) return undefined;
        if (text.includes(newText)) return { content: describe(input, shown) };
        const problem = `${shown} contains neither oldText nor newText: another program has changed it.`;
        throw new LangoError('outcome-unknown', problem);
      }),
  });
}

async function load(access: WorkspaceAccess, path: string, maxBytes: number) {
  const target = await access.target(pathArgument(path), { follow: true, make: false });
  if (target.existing === undefined) throw missingPath(pathArgument(path));
  const shown = access.displayPath(target.path);
  assertFile(target.existing, shown);
  const bytes = await readWhole(target.existing, shown, maxBytes);
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return { target, text, shown };
  } catch (cause) {
    const problem = `path: "${shown}" is not UTF-8 text; only text can be edited.`;
    throw new LangoError('invalid-input', problem, { cause });
  }
}

function replaceOnce(text: string, input: EditInput, shown: string): string {
  const [oldText, newText] = withLineBreaksOf(text, input);
  if (oldText === newText)
    throw new LangoError('invalid-input', 'newText: it equals oldText, so the edit would change nothing.');
  const found = text.split(oldText).length - 1;
  if (found === 0) {
    const advice = 'read the file and copy the text exactly, including spaces and line breaks';
    throw new LangoError('conflict', `oldText: it does not occur in ${shown} (found 0 times); ${advice}.`);
  }
  if (found > 1) {
    const advice = 'include more of the surrounding text to make it unique';
    throw new LangoError('conflict', `oldText: it occurs ${found} times in ${shown}, not once; ${advice}.`);
  }
  const at = text.indexOf(oldText);
  return text.slice(0, at) + newText + text.slice(at + oldText.length);
}

/** Converts both texts to CRLF if all lines of the file end in CRLF, because models always write LF. */
function withLineBreaksOf(text: string, { oldText, newText }: EditInput): readonly [string, string] {
  const isCrlf = text.includes('\r\n') && !/(?<!\r)\n/.test(text);
  return isCrlf ? [toCrlf(oldText), toCrlf(newText)] : [oldText, newText];
}

const toCrlf = (text: string): string => text.replace(/\r?\n/g, '\r\n');

function describe({ oldText, newText }: EditInput, shown: string): string {
  return `replaced ${counted(oldText.length, 'character')} by ${newText.length} in ${shown}`;
}
