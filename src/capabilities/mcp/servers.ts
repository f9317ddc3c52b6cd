import type { Scope } from '../../core/task.js';
import type { ToolSource } from '../../core/tool.js';
import type { NodeFinding } from '../../core/tool-family.js';
import type { McpServerOptions } from './options.js';
import { OwnedServers } from './owned-servers.js';
import { McpServer } from './server.js';

export type { McpServerOptions, McpReach } from './options.js';

/** The MCP servers of a node. */
export interface Mcp {
  /** Those that all owners share. */
  readonly servers: ReadonlyMap<string, McpServer>;
  readonly sources: readonly ToolSource[];
  findings(): readonly NodeFinding[];
  close(): Promise<void>;
}

type Apart = readonly [name: string, optionsFor: (scope: Scope) => McpServerOptions];

/** Makes the servers that all owners share, and those at which each owner signs in. */
export function createMcp(shared: readonly McpServerOptions[], apart: readonly Apart[]): Mcp {
  const servers = new Map(shared.map((each) => [each.name, new McpServer(each)]));
  const owned = apart.map(
    ([name, optionsFor]) => new OwnedServers(name, (scope) => new McpServer(optionsFor(scope))),
  );
  const all = [...servers.values(), ...owned];
  return {
    servers,
    sources: all,
    findings: () => all.map((server) => server.finding()),
    close: async () => void (await Promise.all(all.map((server) => server.close()))),
  };
}
