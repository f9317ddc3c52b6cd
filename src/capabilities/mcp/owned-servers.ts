import { BoundedCache } from '../../core/bounded-cache.js';
import { scopeKey, type Scope } from '../../core/task.js';
import type { ToolSource } from '../../core/tool.js';
import type { NodeFinding } from '../../core/tool-family.js';
import type { McpServer } from './server.js';

/** The most owners with a connection. For another owner, the connection that was used longest ago is closed. */
const MOST_OWNERS = 100;

/** A server at which each owner signs in: it has a connection, and so tools, for each of them. */
export function openOwnedServers(name: string, make: (scope: Scope) => McpServer) {
  const servers = new BoundedCache<string, McpServer>(MOST_OWNERS, {
    onDropped: (_, server) => void server.close(),
  });
  const refresh = async (scope: Scope | undefined): Promise<void> => {
    if (!scope) return;
    const key = scopeKey(scope);
    const server = servers.get(key) ?? make(scope);
    servers.set(key, server);
    await server.refresh();
  };
  return {
    kind: { name: `mcp_${name}_` },
    refresh,
    prepare: refresh,
    list: (scope: Scope | undefined) => (scope && servers.get(scopeKey(scope))?.list()) ?? [],
    finding(): NodeFinding {
      const text = `${servers.size} owners use it; each signs in: lango mcp login ${name}`;
      return { code: 'mcp', subject: `mcp ${name}`, state: 'ok', text };
    },
    async close() {
      await Promise.all([...servers].map(([, server]) => server.close()));
    },
  } satisfies ToolSource & Pick<McpServer, 'finding' | 'close'>;
}
