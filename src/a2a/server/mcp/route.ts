import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  createMcpHandler,
  inputRequired,
  inputResponse,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { HttpExchange, HttpRoute } from '../../../core/http.js';
import type { Caller } from '../../../core/identity.js';
import { isLangoError } from '../../../core/errors.js';
import { isJsonObject, onOneLine } from '../../../core/json.js';
import type { Question } from '../../../core/task.js';
import { readTrace } from '../../translate/trace.js';
import { reportedError, sendJson } from '../http-call.js';
import { JSON_TYPE } from '../modes.js';
import type { PublishedAgent } from '../operations.js';
import { MCP_PATH } from '../routes.js';
import type { Streaming } from '../sse.js';
import { callAgent } from './agent-call.js';
import { openQuestions, toErrorResult, toResult } from './results.js';
import { parseArguments, toolsFor, type CallArguments } from './tools.js';

/** Says that a client of an older version also cancels by closing the connection, as `lango mcp serve` does. */
const CANCELS_HEADER = 'lango-cancel-on-close';

interface McpRouteOptions extends Streaming {
  /** By name. Read at each request. */
  readonly agents: ReadonlyMap<string, PublishedAgent>;
  readonly version: string;
}

/** The published agents as MCP tools, over streamable HTTP, from the journal alone: any replica serves any request. */
export function createMcpRoute(options: McpRouteOptions): HttpRoute {
  return async (exchange) => {
    const { request, path } = exchange;
    if (path !== MCP_PATH) return false;
    const caller = await exchange.caller();
    if (request.method !== 'POST') {
      const body = JSON.stringify({ error: { code: 405, message: 'Send MCP requests with POST.' } });
      sendJson(exchange, { status: 405, type: JSON_TYPE, body, headers: { Allow: 'POST' } });
      return true;
    }
    const parsedBody = await exchange.readJson();
    await options.slots.hold(caller, () => respond(exchange, { ...options, caller, parsedBody }));
    return true;
  };
}

interface RequestOptions extends McpRouteOptions {
  readonly caller: Caller;
  readonly parsedBody: unknown;
}

async function respond(exchange: HttpExchange, options: RequestOptions): Promise<void> {
  const { request, response, baseUrl, signal } = exchange;
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers))
    if (value !== undefined && name !== 'authorization') headers.set(name, String(value));
  const handler = createMcpHandler(({ era }) => serverFor(exchange, options, era), {
    responseMode: 'sse',
    keepAliveMs: options.limits.heartbeatSeconds * 1_000,
    onerror: (error) => exchange.logger.debug('an MCP request was refused', { error: error.message }),
  });
  const sent = new Request(new URL(MCP_PATH, baseUrl), { method: 'POST', headers, signal });
  try {
    const { status, headers: given, body } = await handler.fetch(sent, { parsedBody: options.parsedBody });
    response.writeHead(status, { ...Object.fromEntries(given), 'Cache-Control': 'no-store' });
    if (body) await pipeline(Readable.fromWeb(body), escaped, response);
    else response.end();
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await handler.close();
  }
}

async function* escaped(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  for await (const chunk of chunks) yield onOneLine(decoder.decode(chunk, { stream: true }));
}

type Era = 'legacy' | 'modern';

function serverFor(exchange: HttpExchange, options: RequestOptions, era: Era): Server {
  const { agents, caller, version } = options;
  const server = new Server({ name: 'lango', version }, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/list', () => ({ tools: toolsFor(agents, caller) }));
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const agent = agents.get(params.name);
    if (!agent) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool ${params.name}.`);
    const trace = readTrace((name) => String(exchange.request.headers[name] ?? ''));
    try {
      const given = withResponses(parseArguments(params.arguments ?? {}), context);
      const outcome = await callAgent(given, {
        agent,
        call: { scope: caller, signal: exchange.signal, after: undefined, from: exchange.address, trace },
        progress: progressTo(context),
        isCanceled: () => isCanceled(exchange, era),
      });
      const questions = 'messageId' in outcome || !canElicit(context) ? [] : openQuestions(outcome);
      return 'id' in outcome && questions.length > 0 ? elicit(outcome.id, questions) : toResult(outcome);
    } catch (error) {
      if (context.mcpReq.requestState<string>() !== undefined && isLangoError(error, 'not-found'))
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The requestState names no task of yours.');
      return toErrorResult(reportedError(exchange, error));
    }
  });
  return server;
}

/** Since 2026-07-28, closing the connection cancels the call. A server that stops closes connections too. */
function isCanceled({ request, signal, closing }: HttpExchange, era: Era): boolean {
  const mayCancel = era === 'modern' || request.headers[CANCELS_HEADER] === 'true';
  return mayCancel && signal.aborted && !closing.aborted;
}

function progressTo({ mcpReq }: ServerContext): (line: string) => Promise<void> {
  const progressToken = mcpReq._meta?.progressToken;
  let progress = 0;
  return async (message) => {
    if (progressToken === undefined) return;
    progress += 1;
    await mcpReq
      .notify({ method: 'notifications/progress', params: { progressToken, progress, message } })
      // The client is gone, which its signal says too.
      .catch(() => {});
  };
}

/** Whether the client shows forms to a person and sends the replies by calling again (2026-07-28). */
function canElicit({ mcpReq }: ServerContext): boolean {
  const envelope = (mcpReq.envelope ?? {}) as Readonly<Record<string, unknown>>;
  const capabilities = envelope['io.modelcontextprotocol/clientCapabilities'];
  return isJsonObject(capabilities) && isJsonObject(capabilities['elicitation']);
}

/** Asks the questions with the client's forms. The request state names the task only; its owner and the hashes are checked again. */
function elicit(taskId: string, questions: readonly Question[]) {
  const requests = questions.map(({ hash, author, text, tool, arguments: given }) => {
    const call = tool === undefined ? '' : `\n${tool} ${JSON.stringify(given)}`;
    const form = inputRequired.elicit({
      message: `${author}: ${text}${call}`,
      requestedSchema: {
        type: 'object',
        properties: {
          decision: { type: 'string', title: 'Decision', enum: ['approve', 'deny'] },
          text: { type: 'string', title: 'Why, or the reply in words' },
        },
        required: ['decision'],
      },
    });
    return [hash, form] as const;
  });
  return inputRequired({ inputRequests: Object.fromEntries(requests), requestState: taskId });
}

/** Returns the arguments of a call, or instead the replies to forms that it brings. A form that was closed counts as denied. */
function withResponses(given: CallArguments, { mcpReq }: ServerContext): CallArguments {
  const taskId = mcpReq.requestState<string>();
  const hashes = Object.keys(mcpReq.inputResponses ?? {});
  if (typeof taskId !== 'string' || hashes.length === 0) return given;
  const replies = hashes.map((hash) => {
    const response = inputResponse(mcpReq.inputResponses, hash);
    const content = response.kind === 'elicit' && response.action === 'accept' ? response.content : {};
    const { decision = 'deny', text } = content ?? {};
    return { hash, decision, ...(text !== undefined && { text }) };
  });
  return parseArguments({ taskId, answers: replies });
}
