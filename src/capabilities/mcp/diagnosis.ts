import type { Diagnosis, DiagnosisContext } from '../../core/capability.js';
import type { NodeFinding } from '../../core/tool-family.js';
import { VAULT_OPERATIONS } from '../../core/vault-operations.js';
import { signInName } from './kept-sign-in.js';
import { openServers } from './opening.js';
import type { McpServer } from './server.js';
import type { MCP_SETTINGS } from './settings.js';

type Context = Pick<DiagnosisContext<typeof MCP_SETTINGS>, 'settings' | 'withOwner'>;

export async function diagnoseServers(
  context: DiagnosisContext<typeof MCP_SETTINGS>,
): Promise<readonly Diagnosis[]> {
  await using mcp = openServers(context);
  const findings = await Promise.all([...mcp.servers.values()].map((server) => findingOf(server, context)));
  return findings.map((one) => ({ ...one, replaces: 'mcp' }));
}

/** Reaches a server. Where people sign in, only says whether this person is signed in: the node uses the sign-in. */
export async function findingOf(server: McpServer, { settings, withOwner }: Context): Promise<NodeFinding> {
  const { name } = server;
  if (!settings['mcp.servers'][name]?.login) {
    await server.start();
    return server.finding();
  }
  const subject = `mcp ${name}`;
  const { secrets } = await withOwner(VAULT_OPERATIONS, (owner) => owner.listSecrets({}));
  const kept = secrets.find((secret) => secret.name === signInName(name));
  if (!kept) {
    const hint = `Run: lango mcp login ${name}`;
    return { code: 'mcp-login', subject, state: 'warn', text: 'you are not signed in', hint };
  }
  const since = new Date(kept.updatedAt).toISOString().slice(0, 10);
  return { code: 'mcp', subject, state: 'ok', text: `you are signed in (${since})` };
}
