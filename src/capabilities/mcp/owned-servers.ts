import { BoundedCache } from '../../core/bounded-cache.js';
import type { Scope } from '../../core/task.js';
import { scopeKey } from '../../core/task.js';
import type { Tool, ToolSource } from '../../core/tool.js';
import type { NodeFinding } from '../../core/tool-family.js';
import type { McpServer } from './server.js';

/** The owners whose connections are kept. The one that asked longest ago is closed for another. */
const MOST_OWNERS = 100;

/** A server at which each owner signs in: it has a connection, and so tools, for each of them. */
export class OwnedServers implements ToolSource {
  readonly kind: ToolSource['kind'];
  readonly #name: string;
  readonly #make: (scope: Scope) => McpServer;
  readonly #servers = new BoundedCache<string, McpServer>(MOST_OWNERS, {
    onDropped: (_, server) => void server.close(),
  });

  constructor(name: string, make: (scope: Scope) => McpServer) {
    this.#name = name;
    this.kind = { name: `mcp_${name}_` };
    this.#make = make;
  }

  async refresh(scope: Scope | undefined): Promise<void> {
    if (!scope) return;
    const key = scopeKey(scope);
    const server = this.#servers.get(key) ?? this.#make(scope);
    this.#servers.set(key, server);
    await server.refresh();
  }

  prepare(scope: Scope): Promise<void> {
    return this.refresh(scope);
  }

  list(scope: Scope | undefined): readonly Tool[] {
    return (scope && this.#servers.get(scopeKey(scope))?.list()) ?? [];
  }

  finding(): NodeFinding {
    const text = `${this.#servers.size} owners use it; each signs in: lango mcp login ${this.#name}`;
    return { code: 'mcp', subject: `mcp ${this.#name}`, state: 'ok', text };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#servers].map(([, server]) => server.close()));
  }
}
