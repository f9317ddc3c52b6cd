import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { JsonObject } from '../../src/core/json.js';

/** An MCP server over streamable HTTP, without a library, that sends definitions and results as they are given. */
export interface RawMcpServer {
  readonly url: string;
  /** The arguments of the newest call of each tool. */
  readonly got: ReadonlyMap<string, JsonObject>;
  close(): Promise<void>;
}

interface Script {
  /** The result of `tools/list`, by the cursor. */
  list(cursor: string | undefined): object;
  /** The result of a call of this tool. */
  call(tool: string): unknown;
}

interface Request {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly cursor?: string; readonly name: string; readonly arguments?: JsonObject };
}

export async function openMcpServer(script: Script): Promise<RawMcpServer> {
  const got = new Map<string, JsonObject>();
  const resultOf = ({ method, params }: Request): unknown => {
    if (method === 'tools/list') return script.list(params?.cursor);
    if (method === 'tools/call') {
      got.set(params!.name, params!.arguments ?? {});
      return script.call(params!.name);
    }
    const serverInfo = { name: 'raw', version: '1' };
    if (method !== 'initialize') return undefined;
    return { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo };
  };
  const server = createServer((incoming, response) => {
    void text(incoming).then((body) => {
      if (incoming.method !== 'POST') return response.writeHead(405).end();
      const request = JSON.parse(body) as Request;
      if (request.id === undefined) return response.writeHead(202).end();
      const result = resultOf(request);
      const error = { code: -32601, message: 'no such method' };
      response.writeHead(200, { 'content-type': 'application/json' });
      const reply = { jsonrpc: '2.0', id: request.id };
      return response.end(JSON.stringify(result === undefined ? { ...reply, error } : { ...reply, result }));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    got,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
