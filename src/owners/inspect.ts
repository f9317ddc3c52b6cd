import { errorText, isLangoError, LangoError } from '../core/errors.js';
import { mediaTypeOf, type CreateFetch } from '../core/http.js';
import type { GrpcInspection, InspectedFrame, InspectedRequest, Inspection } from '../core/inspection.js';
import { isJsonObject, type Json } from '../core/json.js';
import type { CardFinding } from '../core/node-status.js';
import { readEvents } from '../core/server-events.js';

interface InspectorParts {
  /** The server's own way out. */
  readonly createFetch: CreateFetch;
  /** The hosts of remote agents that may have private addresses. */
  readonly privateHosts: () => readonly string[];
  readonly checkFrame: (
    text: string,
    expects: NonNullable<InspectedRequest['expects']>,
    status: number,
  ) => readonly string[];
  readonly checkRequest: (
    body: string | undefined,
    expects: NonNullable<InspectedRequest['expects']>,
  ) => readonly string[];
  readonly callGrpc: (
    request: InspectedRequest,
    call: Readonly<{
      allowPrivate: readonly string[];
      signal: AbortSignal;
      maxBytes: number;
      onFrame: (text: string) => void;
    }>,
  ) => Promise<GrpcInspection>;
  readonly lintCard: (card: unknown) => readonly CardFinding[];
}

const REQUEST_MS = 30_000;
/** A stream is read for so long, or until it is silent for `IDLE_MS`. */
const STREAM_MS = 45_000;
const IDLE_MS = 20_000;
const MAX_BYTES = 1024 * 1024;
const HINT =
  'An inspected agent has a public address, or is a remote agent whose private address was allowed: add it under Agents first, or add the host to egress.allowPrivate.';

/** Returns a function that sends a request of an operator to an agent and reads what comes back. Rejects as egress does. */
export function createInspector(parts: InspectorParts) {
  const { privateHosts, callGrpc, checkFrame, checkRequest } = parts;
  return async (request: InspectedRequest, stopped: AbortSignal): Promise<Inspection> => {
    const { body, expects } = request;
    const allowPrivate = privateHosts();
    const signal = AbortSignal.any([stopped, AbortSignal.timeout(STREAM_MS)]);
    const origin = originOf(request.origin);
    const frames: InspectedFrame[] = [];
    const begun = performance.now();
    const add = (text: string, status = 0) => {
      const problems = expects && text !== '' ? checkFrame(text, expects, status) : [];
      frames.push({ ms: Math.round(performance.now() - begun), text, problems });
    };
    const received =
      expects?.transport === 'GRPC'
        ? await callGrpc({ ...request, origin }, { allowPrivate, signal, maxBytes: MAX_BYTES, onFrame: add })
        : await receive({ ...request, origin }, { parts, allowPrivate, signal, add });
    return { ...received, frames, ...(expects && { sentProblems: checkRequest(body, expects) }) };
  };
}

interface Receiving {
  readonly parts: Pick<InspectorParts, 'createFetch' | 'lintCard'>;
  readonly allowPrivate: readonly string[];
  readonly signal: AbortSignal;
  readonly add: (text: string, status: number) => void;
}

async function receive(
  { origin, path, method, headers, body }: InspectedRequest,
  { parts: { createFetch, lintCard }, allowPrivate, signal, add }: Receiving,
): Promise<Omit<Inspection, 'frames' | 'sentProblems'>> {
  const limits = { timeoutMs: REQUEST_MS, idleMs: IDLE_MS, maxBytes: MAX_BYTES, streamBytes: MAX_BYTES };
  const send = createFetch({ ...limits, allowPrivate, privateHint: HINT, isBoundedJson: true });
  const init = { method, headers, signal, ...(body !== undefined && { body }) };
  const response = await send(origin + path, init);
  const { status } = response;
  const isStream = mediaTypeOf(response) === 'text/event-stream';
  let whole = '';
  const cut = await untilCut(async () => {
    if (isStream) for await (const { data } of readEvents(response.body ?? [])) add(data, status);
    else add((whole = await response.text()), status);
  });
  const findings = findingsOf(whole, lintCard);
  return {
    ...{ status, headers: Object.fromEntries(response.headers) },
    ...(cut !== undefined && { cut }),
    ...(findings && { findings }),
  };
}

function originOf(text: string): string {
  const url = URL.parse(text);
  if (url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') return url.origin;
  throw new LangoError('invalid-input', `"${text}" is no address of an HTTP server.`, {
    hint: 'Write https://HOST, or http://HOST:PORT.',
  });
}

/** Keeps the part of a response that came before a failure. */
async function untilCut(read: () => Promise<void>): Promise<string | undefined> {
  try {
    await read();
    return undefined;
  } catch (error) {
    if (isLangoError(error)) return error.message;
    return error instanceof DOMException ? 'It was read for as long as one is read here.' : errorText(error);
  }
}

function findingsOf(text: string, lintCard: InspectorParts['lintCard']): readonly CardFinding[] | undefined {
  try {
    const json = JSON.parse(text) as Json;
    const isCard = isJsonObject(json) && json['skills'] !== undefined && json['name'] !== undefined;
    return isCard ? lintCard(json) : undefined;
  } catch {
    return undefined;
  }
}
