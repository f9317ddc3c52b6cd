import type { NodeFinding } from '../tool-family.js';
import type { McpServerOptions } from './options.js';
import { McpServer } from './server.js';

export type { McpServerOptions, McpReach } from './options.js';

/** The MCP servers of a node. */
export interface Mcp {
  readonly servers: ReadonlyMap<string, McpServer>;
  findings(): readonly NodeFinding[];
  close(): Promise<void>;
}

export function createMcp(options: readonly McpServerOptions[]): Mcp {
  const servers = new Map(options.map((each) => [each.name, new McpServer(each)]));
  const all = [...servers.values()];
  return {
    servers,
    findings: () => all.map((server) => server.finding()),
    close: async () => void (await Promise.all(all.map((server) => server.close()))),
  };
}
