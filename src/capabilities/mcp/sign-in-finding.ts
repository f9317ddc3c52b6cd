import type { WithOwner } from '../../core/command.js';
import type { NodeFinding } from '../../core/tool-family.js';
import { VAULT_OPERATIONS } from '../../core/vault-operations.js';
import { signInName } from './kept-sign-in.js';

/** Says whether this person is signed in at an MCP server. Only the running server can use the sign-in. */
export async function signInFinding(name: string, withOwner: WithOwner): Promise<NodeFinding> {
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
