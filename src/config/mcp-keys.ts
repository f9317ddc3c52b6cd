import { flag, group } from '../core/fields.js';

export const mcp = group(
  'MCP: servers whose tools agents can call, which needs the package @modelcontextprotocol/client; and agents as tools.',
  {
    serve: flag(
      false,
      'Offer each published agent as an MCP tool at `/mcp`, to the callers of A2A. Needs the package @modelcontextprotocol/server.',
    ),
  },
);
