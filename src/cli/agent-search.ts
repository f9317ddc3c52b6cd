import { searchCatalogs } from '../a2a/client/catalog.js';
import { loadConfig } from '../config/load.js';
import { LangoError } from '../core/errors.js';
import { silentLogger } from '../core/logger.js';
import { counted } from '../core/text.js';
import { isPrivate } from '../http/address-check.js';
import { createEgress } from '../http/egress.js';
import { overridesOf, type Call, type FolderFlags } from './connection.js';
import { safeLine } from '../terminal/safe-text.js';
import type { Report } from '../terminal/terminal.js';

const TIMEOUT_MS = 30_000;
const DESCRIPTION_CHARACTERS = 200;

/** `lango agents search`: looks in the catalogs of the configuration. Adds nothing. */
export async function searchAgents(text: string, call: Call<FolderFlags>): Promise<Report> {
  const { env, flags } = call;
  const { config } = await loadConfig({ env, overrides: overridesOf(flags), purpose: 'call' });
  const { catalogs } = config.a2a;
  if (catalogs.length === 0) {
    const hint = 'Set a2a.catalogs to the addresses of catalogs (ARD or AI Catalog).';
    throw new LangoError('not-found', 'The configuration names no catalog.', { hint });
  }
  const { agents, failed } = await searchCatalogs({
    ...{ catalogs, text },
    isPrivate: ({ hostname }) => isPrivate(hostname),
    fetchFor: (catalog) =>
      createEgress({ allowPrivate: [], configuredUrl: catalog, timeoutMs: TIMEOUT_MS, logger: silentLogger }),
  });
  const { paint } = call.terminal;
  return {
    json: { agents, failed },
    lines: [
      `${counted(agents.length, 'agent')} found`,
      ...agents.flatMap(({ name, description, url }) => [
        `${paint.author(safeLine(name))}  ${safeLine(url)}`,
        ...(description === '' ? [] : [`  ${paint.dim(safeLine(description, DESCRIPTION_CHARACTERS))}`]),
      ]),
      ...failed.map(({ catalog, reason }) => `${safeLine(catalog)}: ${safeLine(reason)}`),
      ...(agents.length === 0 ? [] : ['Add one with: lango agents add ADDRESS']),
    ],
  };
}
