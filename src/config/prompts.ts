import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, errorText, LangoError } from '../core/errors.js';
import type { Config } from './config.js';
import { packageRoot } from './package-root.js';

type PromptSources = Pick<Config['agent'], 'promptFolder' | 'houseRules' | 'houseRulesFile'>;

/**
 * Reads the sections of the single agent's instruction (requirement O7), and the rules for all agents. Each section is from
 * the folder if it has the file, otherwise from this package. Throws `invalid-config` if the folder has neither file, or if
 * the file of the house rules is missing.
 */
export async function loadPrompts({ promptFolder: folder, houseRules = '', houseRulesFile }: PromptSources) {
  const readOwn = async (name: string) =>
    folder === undefined ? undefined : readIfThere(join(folder, name));
  const [identity, toolUsage] = await Promise.all([readOwn('AGENTS.md'), readOwn('TOOL_USAGE.md')]);
  if (folder !== undefined && identity === undefined && toolUsage === undefined) {
    const hint = 'Correct agent.promptFolder, or leave it out to use the built-in texts.';
    const text = `The folder ${folder} has neither an AGENTS.md nor a TOOL_USAGE.md.`;
    throw new LangoError('invalid-config', text, { hint });
  }
  const rulesFile = houseRulesFile === undefined ? '' : await readIfThere(houseRulesFile);
  if (rulesFile === undefined) {
    const hint = 'Correct agent.houseRulesFile, or leave it out.';
    throw new LangoError('invalid-config', `There is no file ${houseRulesFile}.`, { hint });
  }
  return {
    houseRules: [houseRules.trim(), rulesFile].filter((text) => text !== '').join('\n'),
    identity: identity ?? (await readBuiltIn('AGENTS.md')),
    toolUsage: toolUsage ?? (await readBuiltIn('TOOL_USAGE.md')),
  };
}

async function readBuiltIn(name: string): Promise<string> {
  return (await readFile(join(packageRoot(), 'prompts', name), 'utf8')).trim();
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    const text = `The file ${file} cannot be read: ${errorText(error)}.`;
    throw new LangoError('invalid-config', text, { cause: error });
  }
}
