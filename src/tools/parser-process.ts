import { guardProcess, toPlainError, type PlainError } from './separate-process.js';

/**
 * The parsers of bytes from outside. Even a small input can take minutes or much memory, so they run in this process, which
 * the server can end (`parsers.ts`). Inputs and outputs are plain data.
 */
const PARSERS = {
  html: async (html: string) => (await import('./html.js')).toMarkdown(html),
  document: async ({ name, content }: { readonly name: string; readonly content: Buffer }) =>
    (await import('./rag/document-text.js')).readDocument(name, content),
  text: async ({ name, content }: { readonly name: string; readonly content: Buffer }) =>
    (await import('./rag/document-text.js')).readText(name, content),
  skill: async (archive: Buffer) => (await import('./skills/archive.js')).readArchive(archive),
};

/** Loads what a kind of input is parsed with, which does not count in the time of an input. */
const LOADERS: { readonly [Kind in ParserKind]: (input: ParserInput<Kind>) => Promise<unknown> } = {
  html: () => import('./html.js'),
  document: async ({ name }) => (await import('./rag/document-text.js')).loadReader(name),
  text: async ({ name }) => (await import('./rag/document-text.js')).loadReader(name),
  skill: () => import('./skills/archive.js'),
};

export type ParserKind = keyof typeof PARSERS;
export type ParserInput<Kind extends ParserKind> = Parameters<(typeof PARSERS)[Kind]>[0];
export type ParserOutput<Kind extends ParserKind> = Awaited<ReturnType<(typeof PARSERS)[Kind]>>;

export interface ParserRequest {
  readonly kind: ParserKind;
  readonly input: unknown;
}

/** The process has loaded what it needs, and the time of the input begins. */
export interface ParserBegin {
  readonly hasBegun: true;
}

export type ParserReply = (
  { readonly output: unknown; readonly error?: undefined } | { readonly error: PlainError }
) & {
  readonly hasBegun?: undefined;
  /** The resident memory of this process after the request. */
  readonly residentBytes: number;
};

if (process.send) {
  guardProcess();
  process.on('message', (request) => void answer(request as ParserRequest));
  process.on('disconnect', () => process.exit());
}

async function answer({ kind, input }: ParserRequest): Promise<void> {
  const load = LOADERS[kind] as (input: unknown) => Promise<unknown>;
  const parse = PARSERS[kind] as (input: unknown) => Promise<unknown>;
  const begin = () => void process.send!({ hasBegun: true } satisfies ParserBegin);
  const parsed = load(input)
    .then(begin)
    .then(() => parse(input));
  const reply = await parsed.then(
    (output) => ({ output }),
    (error: unknown) => ({ error: toPlainError(error, 'invalid-input') }),
  );
  process.send!({ ...reply, residentBytes: process.memoryUsage.rss() } satisfies ParserReply);
}
