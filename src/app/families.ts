import type { Config } from '../config/config.js';
import { readEnv } from '../config/env.js';
import type { Logger } from '../core/logger.js';
import type { Storage } from '../core/store.js';
import type { ToolFamily } from '../core/tool.js';
import { createExec, findSandbox } from '../tools/exec/index.js';
import { createFsTools } from '../tools/fs/index.js';
import { createGraphTools } from '../tools/graph/index.js';
import { openPayment } from './payment-family.js';
import { off } from './family-states.js';
import type { VaultAccess } from './vault.js';
import { openBrowserFamily } from './browser-family.js';
import { openCrypto, openSecrets } from './vault-families.js';
import type { Library } from './knowledge-families.js';

/** What a family is made from. */
export interface FamilyContext {
  readonly config: Config;
  readonly storage: Storage;
  readonly vault: VaultAccess;
  readonly logger: Logger;
}

type OpenFamily = (context: FamilyContext) => ToolFamily | Promise<ToolFamily>;

/** Every shipped family. A new one is a folder in tools/, its opener, and a line here. */
const FAMILIES: readonly OpenFamily[] = [
  openFs,
  openExec,
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
  const opening = [...FAMILIES.map(async (open) => [await open(context)]), familiesOf(library)];
  const families = (await Promise.all(opening)).flat();
  for (const { name, state, note, hint } of families) {
    if (state === 'missing')
      context.logger.warn(`no ${name} tools: ${note ?? ''}`, { ...(hint ? { hint } : {}) });
  }
  return families;
}

async function familiesOf(library: Promise<Library>): Promise<readonly ToolFamily[]> {
  return (await library).families;
}

function openFs({ config: { tools, workspace } }: FamilyContext): ToolFamily {
  if (!tools.fs.enabled) return off('fs');
  return { name: 'fs', state: 'on', tools: createFsTools({ roots: workspace, ...tools.fs }) };
}

async function openExec({ config, logger }: FamilyContext): Promise<ToolFamily> {
  const { tools, workspace } = config;
  if (!tools.exec.enabled) return off('exec');
  const { sandbox, reason } = await findSandbox({ mode: tools.exec.sandbox, roots: workspace });
  if (!sandbox) logger.warn(`commands run without a sandbox, so each one waits for approval: ${reason}`);
  const exec = createExec({
    roots: workspace,
    sandbox,
    network: tools.exec.network,
    environment: readEnv().variables,
    envAllow: tools.exec.envAllow,
    limits: tools.exec,
    logger,
  });
  return { name: 'exec', state: 'on', tools: exec.tools, close: () => exec.close() };
}

function openGraph({ config, storage }: FamilyContext): ToolFamily {
  if (!config.graph.enabled) return off('graph', 'graph.enabled');
  return { name: 'graph', state: 'on', tools: createGraphTools(storage.graph) };
}
