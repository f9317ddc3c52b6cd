import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, errorText, LangoError } from '../core/errors.js';
import { packageRoot } from './package-root.js';

/** The sections of the single agent's instruction that stand in files (requirement O7). */
export interface PromptSections {
  /** AGENTS.md: who the agent is. */
  readonly identity: string;
  /** TOOL_USAGE.md: how it uses tools. */
  readonly toolUsage: string;
}

/**
 * Reads both sections: from `folder` where it has the file, else the shipped one. Throws
 * `invalid-config` when `folder` holds neither.
 */
export async function loadPrompts(folder: string | undefined): Promise<PromptSections> {
  const own = async (name: string) => (folder === undefined ? undefined : readIfThere(join(folder, name)));
  const [identity, toolUsage] = await Promise.all([own('AGENTS.md'), own('TOOL_USAGE.md')]);
  if (folder !== undefined && identity === undefined && toolUsage === undefined) {
    throw new LangoError(
      'invalid-config',
      `The folder ${folder} has neither an AGENTS.md nor a TOOL_USAGE.md.`,
      {
        hint: 'Correct agent.promptFolder, or leave it out for the shipped texts.',
      },
    );
  }
  return {
    identity: identity ?? (await readShipped('AGENTS.md')),
    toolUsage: toolUsage ?? (await readShipped('TOOL_USAGE.md')),
  };
}

async function readShipped(name: string): Promise<string> {
  return (await readFile(join(packageRoot(), 'prompts', name), 'utf8')).trim();
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw new LangoError('invalid-config', `The file ${file} cannot be read: ${errorText(error)}.`, {
      cause: error,
    });
  }
}
