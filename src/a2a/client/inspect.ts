import { errorText, isLangoError, LangoError, loadPackage } from '../../core/errors.js';
import { mediaTypeOf, type CreateFetch } from '../../core/http.js';
import type { InspectedFrame, InspectedRequest, Inspection } from '../../core/inspection.js';
import { parseObject } from '../../core/json.js';
import { readEvents } from '../../core/server-events.js';
import { lintCard } from './card-lint.js';
import { checkFrame, checkRequest } from './frame-check.js';
import type { GrpcRules } from './grpc-transport.js';

interface Inspecting {
  /** The server's own way out. */
  readonly createFetch: CreateFetch;
  /** The hosts of remote agents that may have private addresses. */
  readonly allowPrivate: readonly string[];
  readonly addressOf: GrpcRules['addressOf'];
  readonly signal: AbortSignal;
}

const REQUEST_MS = 30_000;
/** A stream is read for so long, or until it is silent for `IDLE_MS`. */
const STREAM_MS = 45_000;
const IDLE_MS = 20_000;
const MAX_BYTES = 1024 * 1024;
const HINT =
  'An inspected agent has a public address, or is a remote agent whose private address was allowed: add it under Agents first, or add the host to egress.allowPrivate.';

/** Sends a request of an operator to an agent and reads what comes back. Rejects as egress does. */
export async function inspectAgent(given: InspectedRequest, inspecting: Inspecting): Promise<Inspection> {
  const { body, expects } = given;
  const request = { ...given, origin: originOf(given.origin) };
  const signal = AbortSignal.any([inspecting.signal, AbortSignal.timeout(STREAM_MS)]);
  const frames: InspectedFrame[] = [];
  const begun = performance.now();
  const onFrame = (text: string, status = 0) => {
    const problems = expects && text !== '' ? checkFrame(text, expects, status) : [];
    frames.push({ ms: Math.round(performance.now() - begun), text, problems });
  };
  const call = expects?.transport === 'GRPC' ? callGrpc : callHttp;
  const received = await call(request, { ...inspecting, signal, onFrame });
  return { ...received, frames, ...(expects && { sentProblems: checkRequest(body, expects) }) };
}

interface Receiving extends Inspecting {
  readonly onFrame: (text: string, status?: number) => void;
}

async function callGrpc(request: InspectedRequest, { addressOf, signal, onFrame }: Receiving) {
  const { inspectGrpc } = await loadPackage('@grpc/grpc-js', () => import('./grpc-inspection.js'));
  return inspectGrpc(request, { addressOf, signal, maxBytes: MAX_BYTES, onFrame });
}

async function callHttp(
  { origin, path, method, headers, body }: InspectedRequest,
  { createFetch, allowPrivate, signal, onFrame }: Receiving,
): Promise<Omit<Inspection, 'frames' | 'sentProblems'>> {
  const limits = { timeoutMs: REQUEST_MS, idleMs: IDLE_MS, maxBytes: MAX_BYTES, streamBytes: MAX_BYTES };
  const send = createFetch({ ...limits, allowPrivate, privateHint: HINT, isBoundedJson: true });
  const init = { method, headers, signal, ...(body !== undefined && { body }) };
  const response = await send(origin + path, init);
  const { status } = response;
  const isStream = mediaTypeOf(response) === 'text/event-stream';
  let whole = '';
  const cut = await untilCut(async () => {
    if (isStream) for await (const { data } of readEvents(response.body ?? [])) onFrame(data, status);
    else onFrame((whole = await response.text()), status);
  });
  const json = parseObject(whole);
  const isCard = json?.['skills'] !== undefined && json['name'] !== undefined;
  return {
    ...{ status, headers: Object.fromEntries(response.headers) },
    ...(cut !== undefined && { cut }),
    ...(isCard && { findings: lintCard(json) }),
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
