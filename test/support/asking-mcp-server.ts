import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { createMcpHandler, Server, type InputRequiredResult } from '@modelcontextprotocol/server';

/** A call to a server of 2026-07-28, with the replies to its questions. */
export interface AskedCall {
  readonly inputResponses: Readonly<Record<string, unknown>> | undefined;
  readonly requestState: string | undefined;
}

interface AskingServer extends AsyncDisposable {
  readonly url: string;
  readonly calls: readonly AskedCall[];
}

/** Serves one tool, `book`, in the version of 2026-07-28. A call returns the result of `answer`. */
export async function openAskingServer(
  answer: (call: AskedCall, number: number) => InputRequiredResult | string,
): Promise<AskingServer> {
  const calls: AskedCall[] = [];
  const handler = createMcpHandler(() => {
    const server = new Server({ name: 'asking', version: '1' }, { capabilities: { tools: {} } });
    const outputSchema = { type: 'object' as const, properties: { a: { type: 'string' } } };
    server.setRequestHandler('tools/list', () => ({
      tools: [
        { name: 'book', inputSchema: { type: 'object' }, outputSchema, annotations: { readOnlyHint: true } },
      ],
    }));
    server.setRequestHandler('tools/call', (_, { mcpReq }) => {
      const call = { inputResponses: mcpReq.inputResponses, requestState: mcpReq.requestState() };
      calls.push(call as AskedCall);
      const said = answer(call as AskedCall, calls.length);
      return typeof said === 'string' ? { content: [{ type: 'text', text: said }] } : said;
    });
    return server;
  });
  const host = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)]);
      const body = request.method === 'POST' ? { body: Buffer.concat(chunks) } : {};
      const sent = new Request(`http://${request.headers.host}${request.url}`, {
        method: request.method ?? 'GET',
        headers: Object.fromEntries(headers) as Record<string, string>,
        ...body,
      });
      const answered = await handler.fetch(sent);
      response.writeHead(answered.status, Object.fromEntries(answered.headers));
      if (answered.body) Readable.fromWeb(answered.body as never).pipe(response);
      else response.end();
    })();
  });
  host.listen(0, '127.0.0.1');
  await once(host, 'listening');
  return {
    url: `http://127.0.0.1:${(host.address() as AddressInfo).port}/mcp`,
    calls,
    async [Symbol.asyncDispose]() {
      await handler.close();
      host.closeAllConnections();
      host.close();
    },
  };
}
