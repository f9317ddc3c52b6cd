import { Worker } from 'node:worker_threads';
import { errorText, isLangoError, type ErrorCode } from '../core/errors.js';

/**
 * The parsers of bytes from outside. A small input can keep a parser busy for minutes or fill its memory, so they run in
 * this process, which the server ends (`parsers.ts`). Inputs and outputs are plain data.
 */
const PARSERS = {
  html: async (html: string) => (await import('./html.js')).toMarkdown(html),
  document: async ({ name, content }: { readonly name: string; readonly content: Buffer }) =>
    (await import('./rag/document-text.js')).readDocument(name, content),
  text: async ({ name, content }: { readonly name: string; readonly content: Buffer }) =>
    (await import('./rag/document-text.js')).readText(name, content),
  skill: async (archive: Buffer) => (await import('./skills/archive.js')).readArchive(archive),
};

export type ParserKind = keyof typeof PARSERS;
export type ParserInput<Kind extends ParserKind> = Parameters<(typeof PARSERS)[Kind]>[0];
export type ParserOutput<Kind extends ParserKind> = Awaited<ReturnType<(typeof PARSERS)[Kind]>>;

export interface ParserRequest {
  readonly kind: ParserKind;
  readonly input: unknown;
}

export type ParserReply = (
  | { readonly output: unknown; readonly error?: undefined }
  | { readonly error: { readonly code: ErrorCode; readonly message: string; readonly hint?: string } }
) & {
  /** The resident memory of this process after the request. */
  readonly residentBytes: number;
};

/** Ends this process with this signal when it takes too much memory, which the server tells from other ends. */
export const MEMORY_SIGNAL = 'SIGUSR2';
const GUARD_INTERVAL_MS = 20;

/**
 * Runs beside the parser, which may hold its thread: ends the process when it is too large (V8's own limit counts no
 * buffers), or when its server is gone.
 */
const GUARD = `
const { workerData } = require('node:worker_threads');
const parent = process.ppid;
setInterval(() => {
  if (process.memoryUsage.rss() > workerData.maxBytes) process.kill(process.pid, '${MEMORY_SIGNAL}');
  if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL');
}, ${GUARD_INTERVAL_MS});`;

if (process.send) {
  const maxBytes = Number(process.argv[2]);
  new Worker(GUARD, { eval: true, workerData: { maxBytes }, stdout: true, stderr: true }).unref();
  process.on('message', (request) => void answer(request as ParserRequest));
  process.on('disconnect', () => process.exit());
}

async function answer({ kind, input }: ParserRequest): Promise<void> {
  const parse = PARSERS[kind] as (input: unknown) => Promise<unknown>;
  const reply = await parse(input).then(
    (output) => ({ output }),
    (error: unknown) => ({ error: toReply(error) }),
  );
  process.send!({ ...reply, residentBytes: process.memoryUsage.rss() } satisfies ParserReply);
}

function toReply(error: unknown): NonNullable<ParserReply['error']> {
  if (!isLangoError(error)) return { code: 'invalid-input', message: errorText(error) };
  const { code, message, hint } = error;
  return { code, message, ...(hint === undefined ? {} : { hint }) };
}
