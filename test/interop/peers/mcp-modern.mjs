// A server of the MCP SDK 2, which speaks 2026-07-28: one tool.
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

serveStdio(() => {
  const server = new McpServer({ name: 'modern', version: '1.0.0' }, { capabilities: { tools: {} } });
  const inputSchema = z.object({ a: z.number(), b: z.number() });
  server.registerTool(
    'add',
    { description: 'Adds two numbers.', inputSchema, annotations: { readOnlyHint: true } },
    async ({ a, b }, context) => ({
      content: [
        { type: 'text', text: `${a + b} by ${context?.mcpReq?.envelope ? 'an envelope' : 'no envelope'}` },
      ],
    }),
  );
  return server;
});
