import { join } from 'node:path';
import type { Config } from '../config/config.js';
import { readEnv } from '../config/env.js';
import type { Logger } from '../core/logger.js';
import type { Storage } from '../core/store.js';
import type { ToolFamily } from '../core/tool.js';
import type { SandboxFinding } from '../tools/exec/index.js';
import { createExec } from '../tools/exec/index.js';
import { createFsTools } from '../tools/fs/index.js';
import { createGraphTools } from '../tools/graph/index.js';
import { openPayment } from './payment-family.js';
import { off } from './family-states.js';
import type { Skills } from '../tools/skills/index.js';
import { createSkills } from '../tools/skills/index.js';
import type { VaultAccess } from './vault.js';
import { openBrowserFamily } from './browser-family.js';
import { openCrypto, openSecrets } from './vault-families.js';
import type { Library } from './knowledge-families.js';

/** What a family is made from. */
export interface FamilyContext {
  readonly config: Config;
  readonly storage: Storage;
  readonly vault: VaultAccess;
  /** What is being found; undefined where no commands are run. */
  readonly sandbox: Promise<SandboxFinding> | undefined;
  readonly logger: Logger;
}

type OpenFamily = (context: FamilyContext) => ToolFamily | Promise<ToolFamily>;

/** Every shipped family. A new one is a folder in tools/, its opener, and a line here. */
const FAMILIES: readonly OpenFamily[] = [
  openFs,
  openGraph,
  openBrowserFamily,
  openSecrets,
  openCrypto,
  openPayment,
];

/**
 * Opens all at once, those of the library too; says in the log which of them are wanted and cannot work.
 * Rejects when one cannot be opened.
 */
export async function openFamilies(
  context: FamilyContext,
  library: Promise<Library>,
): Promise<readonly ToolFamily[]> {
  const skills = openSkills(context);
  const opening = await Promise.all([
    openExec(context, skills),
    ...FAMILIES.map(async (open) => open(context)),
    skillsFamily(context, skills),
  ]);
  const families = [...(await library).families, ...opening];
  for (const { name, state, note, hint } of families) {
    if (state === 'missing')
      context.logger.warn(`no ${name} tools: ${note ?? ''}`, { ...(hint ? { hint } : {}) });
  }
  return families;
}

function openFs({ config: { tools, workspace } }: FamilyContext): ToolFamily {
  if (!tools.fs.enabled) return off('fs');
  return { name: 'fs', state: 'on', tools: createFsTools({ roots: workspace, ...tools.fs }) };
}

/** Commands may read the skills of their owner, so that scripts of a skill are commands like others. */
async function openExec(
  { config, sandbox: finding, logger }: FamilyContext,
  skills: Skills,
): Promise<ToolFamily> {
  const { tools, workspace } = config;
  if (!finding) return off('exec');
  const { sandbox, reason } = await finding;
  if (!sandbox) {
    const { policy } = config.approval;
    const isAsked = Array.isArray(policy) ? policy.includes('exec') : policy !== 'none';
    const so = isAsked ? 'so each one waits for approval' : 'and approval.policy has nobody asked';
    logger.warn(`commands run without a sandbox, ${so}: ${reason}`);
  }
  const exec = createExec({
    roots: workspace,
    sandbox,
    network: tools.exec.network,
    environment: readEnv().variables,
    envAllow: tools.exec.envAllow,
    limits: tools.exec,
    ...(tools.skills.enabled ? { readable: (scope) => skills.folders(scope) } : {}),
    logger,
  });
  return { name: 'exec', state: 'on', tools: exec.tools, close: () => exec.close() };
}

function openSkills({ config, logger }: FamilyContext): Skills {
  const { folders, workspace } = config.tools.skills;
  const owned = join(config.home, 'owners');
  return createSkills({
    shared: folders,
    roots: config.workspace,
    hasWorkspaceSkills: workspace,
    owned,
    logger,
  });
}

async function skillsFamily({ config }: FamilyContext, skills: Skills): Promise<ToolFamily> {
  const { kept } = skills;
  if (!config.tools.skills.enabled) return { ...off('skills'), kept };
  await skills.source.refresh(undefined);
  return { name: 'skills', state: 'on', tools: skills.tools, source: skills.source, kept };
}

function openGraph({ config, storage }: FamilyContext): ToolFamily {
  if (!config.graph.enabled) return off('graph', 'graph.enabled');
  return { name: 'graph', state: 'on', tools: createGraphTools(storage.graph) };
}
