import { guardProcess, toPlainError, type PlainError } from './separate-process.js';

/** Parsers of bytes from outside, which may take minutes or much memory: the server can end this process (`parsers.ts`). */
const PARSERS = {
  html: async (html: string) => (await import('./html.js')).toMarkdown(html),
  document: async ({ name, content }: { readonly name: string; readonly content: Buffer }) =>
    (await import('./document-text.js')).readDocument(name, content),
  text: async ({ name, content }: { readonly name: string; readonly content: Buffer }) =>
    (await import('./document-text.js')).readText(name, content),
};

/** Loads what a kind of input is parsed with, which does not count in the time of an input. */
const LOADERS: { readonly [Kind in ParserKind]: (input: ParserInput<Kind>) => Promise<unknown> } = {
  html: () => import('./html.js'),
  document: async ({ name }) => (await import('./document-text.js')).loadReader(name),
  text: async ({ name }) => (await import('./document-text.js')).loadReader(name),
};

export type ParserKind = keyof typeof PARSERS;
export type ParserInput<Kind extends ParserKind> = Parameters<(typeof PARSERS)[Kind]>[0];
export type ParserOutput<Kind extends ParserKind> = Awaited<ReturnType<(typeof PARSERS)[Kind]>>;

/** A module that exports `parse`, for inputs of another kind: a file that is named `*-entry`, for the bundle. */
export interface ParserModule<Input, Output> {
  readonly url: string;
  readonly parse?: (input: Input) => Promise<Output>; // Not set. It holds the types of the module's `parse`.
}

export interface ParserRequest {
  readonly parser: string; // A kind, or the URL of a module.
  readonly input: unknown;
}

/** The process has loaded what it needs, and the time of the input begins. */
export type ParserBegin = Readonly<{ hasBegun: true }>;

/** `residentBytes`: the memory of this process after the request. */
export type ParserReply = Readonly<{ hasBegun?: undefined; residentBytes: number }> &
  Readonly<{ output: unknown; error?: undefined } | { error: PlainError }>;

if (process.send) {
  guardProcess();
  process.on('message', (request) => void handle(request as ParserRequest));
  process.on('disconnect', () => process.exit());
}

type Parse = (input: unknown) => Promise<unknown>;

async function handle({ parser, input }: ParserRequest): Promise<void> {
  const kind = Object.hasOwn(PARSERS, parser) ? (parser as ParserKind) : undefined;
  const load = kind ? (LOADERS[kind] as Parse) : () => import(parser);
  const parse: Parse = kind
    ? (PARSERS[kind] as Parse)
    : async (given) => ((await import(parser)) as { readonly parse: Parse }).parse(given);
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
