import type { NamedFile } from './document-text.js';
import { guardProcess, toPlainError, type PlainError } from './separate-process.js';

/**
 * Loads what a kind of input is parsed with, which does not count in the time of an input, and returns the parser. Parsers of
 * bytes from outside may take minutes or much memory: the server can end this process (`parsers.ts`).
 */
const PARSERS = {
  html: async () => (await import('./html.js')).toMarkdown,
  document: async ({ name }: NamedFile) => {
    const { loadReader, readDocument } = await import('./document-text.js');
    await loadReader(name);
    return readDocument;
  },
  text: async ({ name }: NamedFile) => {
    const { loadReader, readText } = await import('./document-text.js');
    await loadReader(name);
    return readText;
  },
};

export type ParserKind = keyof typeof PARSERS;
type Parser<Kind extends ParserKind> = Awaited<ReturnType<(typeof PARSERS)[Kind]>>;
export type ParserInput<Kind extends ParserKind> = Parameters<Parser<Kind>>[0];
export type ParserOutput<Kind extends ParserKind> = Awaited<ReturnType<Parser<Kind>>>;

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

type Parse = (input: unknown) => unknown;
type Load = (input: unknown) => Promise<Parse>;

async function handle({ parser, input }: ParserRequest): Promise<void> {
  const ofModule: Load = async () => ((await import(parser)) as { readonly parse: Parse }).parse;
  const load = Object.hasOwn(PARSERS, parser) ? (PARSERS[parser as ParserKind] as Load) : ofModule;
  const parsed = load(input).then((parse) => {
    process.send!({ hasBegun: true } satisfies ParserBegin);
    return parse(input);
  });
  const reply = await parsed.then(
    (output) => ({ output }),
    (error: unknown) => ({ error: toPlainError(error, 'invalid-input') }),
  );
  process.send!({ ...reply, residentBytes: process.memoryUsage.rss() } satisfies ParserReply);
}
