import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CallToolResult, Client, InputRequiredResult } from '@modelcontextprotocol/client';
import type { Tool as Definition, Transport } from '@modelcontextprotocol/client';
import type * as Library from '@modelcontextprotocol/client';
import { causesOf, errorText, LangoError } from '../../core/errors.js';
import { mediaTypeOf } from '../../core/http.js';
import { oneLine, shorten } from '../../core/text.js';
import { assertJsonValue, listIn, objectIn, type JsonObject } from '../../core/json.js';
import type { Logger } from '../../core/logger.js';
import type { RunningProgram } from '../../core/program.js';
import { MessageBounds, ProcessTransport } from './process-transport.js';
import type { Replies } from './elicitation.js';
import { LenientMessages } from './lenient-messages.js';
import { LiveCalls, PAGE, type CallStep, type StepOptions } from './live-call.js';
import type { ServerSettings } from './settings.js';

export type { CallToolResult, Definition };

interface CallOptions extends Omit<StepOptions, 'replies'> {
  /** The replies to what the server asked, and its own note. */
  readonly inputResponses?: Replies;
  readonly requestState?: string | undefined;
}

/** One MCP server, as the configuration describes it. */
export interface McpServerOptions extends Pick<
  ServerSettings,
  'include' | 'exclude' | 'approval' | 'effect'
> {
  /** Lower-case letters and digits: a part of the names of its tools. */
  readonly name: string;
  readonly reach: McpReach;
  /** Identifies the server that `reach` leads to. The accepted definitions of tools belong to it. */
  readonly target: string;
  readonly timeoutMs: number;
  /** The file with the accepted definitions of tools. Its folder is created if it is missing. */
  readonly acceptedFile: string;
  readonly logger: Logger;
}

export type McpReach =
  | {
      readonly kind: 'http';
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      /** The egress client. */
      readonly fetch: typeof fetch;
    }
  | { readonly kind: 'process'; readonly start: () => Promise<RunningProgram> };

/** A connection to a server, after the handshake. */
export type Connection = Awaited<ReturnType<typeof openConnection>>;

const CONNECT_MS = 30_000;
/** The longest wait for the protocol version: an old server may not respond to that question. */
const PROBE_MS = 3_000;
const LIST_MS = 20_000;
const CHANGE_PAUSE_MS = 200;
const STDERR_CHARACTERS = 500;
const EVENT_STREAM = 'text/event-stream';
/** A message has about three lines, and the library may send a request for each message. */
const LINES_PER_SECOND = 500;
const LONGEST_MESSAGE = 2_000;

/** Connects and agrees on a version of the protocol. Rejects with `unavailable` and leaves nothing open. */
export async function openConnection(
  options: McpServerOptions,
  listener: { onToolsChanged(): void; onClosed(): void },
) {
  // The package is optional; the first connection loads it.
  const library = await import('@modelcontextprotocol/client');
  const { transport, stderr } = await openTransport(options, library);
  const { name: server, logger } = options;
  const messages = new LenientMessages((text) =>
    logger.warn(`the MCP server ${server}: ${text}`, { server }),
  );
  const client = new library.Client(
    { name: 'lango', version: '1' },
    {
      capabilities: { elicitation: { form: {}, url: {} } },
      // A person replies later, maybe in another process.
      inputRequired: { autoFulfill: false },
      versionNegotiation: { mode: 'auto', probe: { timeoutMs: PROBE_MS } },
      listChanged: {
        tools: {
          autoRefresh: false,
          debounceMs: CHANGE_PAUSE_MS,
          onChanged: () => listener.onToolsChanged(),
        },
      },
      // The patterns of a schema are the server's: checking its results by them could block this process.
      jsonSchemaValidator: {
        getValidator: () => (value) => ({ valid: true, data: value as never, errorMessage: undefined }),
      },
    },
  );
  const liveCalls = new LiveCalls();
  client.setRequestHandler('elicitation/create', async ({ params }) => ({
    ...(await liveCalls.ask(params)),
  }));
  let isClosed = false;
  client.onclose = () => {
    isClosed = true;
    listener.onClosed();
  };
  // The error is only logged, because a call that fails with it also rejects.
  client.onerror = (error) =>
    options.logger.debug('an MCP server misbehaves', { server: options.name, error: errorText(error) });
  try {
    await client.connect(transport, { timeout: CONNECT_MS });
    const { onmessage } = transport;
    transport.onmessage = (message, extra) => onmessage?.(messages.read(message), extra);
  } catch (error) {
    await transport.close();
    throw unreachable(error, stderr());
  }
  return {
    get isClosed() {
      return isClosed;
    },
    /** Lists all tools, page by page. */
    list: (timeoutMs = LIST_MS): Promise<readonly Definition[]> => listTools(client, messages, timeoutMs),
    call: (name: string, input: JsonObject, given: CallOptions) =>
      callTool(client, { name, arguments: input }, given),
    /** The calls during which the server may ask; undefined when the server asks in its response to a call. */
    liveCalls: client.getProtocolEra() === 'modern' ? undefined : liveCalls,
    close: () => client.close(),
  };
}

async function openTransport(
  { reach }: McpServerOptions,
  { StreamableHTTPClientTransport }: Pick<typeof Library, 'StreamableHTTPClientTransport'>,
): Promise<{ readonly transport: Transport; readonly stderr: () => string }> {
  if (reach.kind === 'http') {
    const { url, fetch, headers } = reach;
    const transport = new StreamableHTTPClientTransport(new URL(url), {
      fetch: boundedFetch(fetch),
      requestInit: { headers },
    });
    return { transport, stderr: () => '' };
  }
  const process = await reach.start();
  return { transport: new ProcessTransport(process), stderr: () => process.stderr.text('') };
}

/** Ends an event stream with messages that are too long or too many, because reading them would block the event loop. */
export function boundedFetch(egress: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await egress(input, init);
    if (!response.body || mediaTypeOf(response) !== EVENT_STREAM) return response;
    const measured = new MessageBounds(LINES_PER_SECOND);
    const bounds = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      async transform(chunk, controller) {
        if (!measured.admit(chunk))
          throw new LangoError('too-large', 'The MCP server sends messages that are too long or too many.');
        controller.enqueue(chunk);
        await nextTurn();
      },
    });
    return new Response(response.body.pipeThrough(bounds), response);
  };
}

async function listTools(client: Client, messages: LenientMessages, timeoutMs: number) {
  // The library would return the same, with a line on our standard output.
  if (!client.getServerCapabilities()?.tools) return [];
  messages.beginList();
  const options = { timeout: timeoutMs, maxTotalTimeout: timeoutMs, cacheMode: 'refresh' } as const;
  const { tools } = await client.listTools(undefined, options);
  return [...new Map(tools.map((one) => [one.name, one])).values()];
}

async function callTool(
  client: Client,
  params: { readonly name: string; readonly arguments: JsonObject },
  given: CallOptions,
): Promise<CallStep> {
  const { signal, timeoutMs, onProgress, inputResponses, requestState } = given;
  const continued = {
    ...(inputResponses && Object.keys(inputResponses).length > 0 && { inputResponses }),
    ...(requestState !== undefined && { requestState }),
  };
  try {
    const result: CallToolResult | InputRequiredResult = await client.callTool(
      { ...params, ...continued },
      {
        ...{ signal, timeout: timeoutMs, maxTotalTimeout: timeoutMs, allowInputRequired: true },
        onprogress: ({ progress, total }) => onProgress(progress, total),
      },
    );
    assertJsonValue(result);
    if (client.getProtocolEra() !== 'modern' || !isInputRequired(result)) return { type: 'result', result };
    const requests = Object.entries(result.inputRequests ?? {});
    const other = requests.find(([, request]) => request?.method !== 'elicitation/create');
    if (other) throw new LangoError('tool', 'It asks for what no person is asked.');
    return {
      type: 'asks',
      requests: Object.fromEntries(requests.map(([name, request]) => [name, request.params])),
      requestState: result.requestState,
    };
  } catch (error) {
    return { type: 'asks', requests: pagesIn(error) };
  }
}

function isInputRequired(result: CallToolResult | InputRequiredResult): result is InputRequiredResult {
  return 'resultType' in result && result.resultType === 'input_required';
}

const PAGES_FIRST = -32042;

/** Reads from an error the pages that a person must open before the call (2025-11-25). Throws any other error. */
function pagesIn(error: unknown): Readonly<Record<string, unknown>> {
  const { code, data } = objectIn(error);
  const pages = listIn(objectIn(data)['elicitations']);
  if (code !== PAGES_FIRST || pages.length === 0) throw error;
  assertJsonValue(pages);
  return Object.fromEntries(pages.map((params, index) => [`${PAGE}${index}`, params]));
}

function unreachable(error: unknown, stderr: string): LangoError {
  // The library wraps the errors of the egress client.
  const own = causesOf(error).find((cause) => cause instanceof LangoError);
  if (own) return own;
  const end = oneLine(stderr).slice(-STDERR_CHARACTERS);
  const printed = end === '' ? '' : ` It printed: ${end}`;
  const problem = `It did not respond to the handshake (${outsideText(error)}).${printed}`;
  return new LangoError('unavailable', problem, { cause: error, retryable: true });
}

/** The text of an error that a server may have written. */
export function outsideText(error: unknown): string {
  // The library recurses into a response before it is checked here.
  if (error instanceof RangeError) return 'its response cannot be read';
  return shorten(oneLine(errorText(error)), LONGEST_MESSAGE);
}
