import type { Diagnosis, DiagnosisContext } from '../../core/capability.js';
import { openServers } from './opening.js';
import type { MCP_SETTINGS } from './settings.js';
import { signInFinding } from './sign-in-finding.js';

export async function diagnoseServers(
  context: DiagnosisContext<typeof MCP_SETTINGS>,
): Promise<readonly Diagnosis[]> {
  const mcp = await openServers(context);
  try {
    const findings = [...mcp.servers].map(async ([name, server]) => {
      if (context.settings['mcp.servers'][name]?.login) return signInFinding(name, context.withOwner);
      await server.start();
      return server.finding();
    });
    return (await Promise.all(findings)).map((one) => ({ ...one, replaces: 'mcp' }));
  } finally {
    await mcp.close();
  }
}
