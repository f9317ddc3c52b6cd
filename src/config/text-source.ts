import { keyOf, type Finding, type Path } from '../core/findings.js';
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, stringify } from 'yaml';
import type { Document, Node, Pair, ParsedNode, YAMLMap } from 'yaml';
import { z } from 'zod';
import { findingsOf, type Problem, PROBLEMS_MAX, toProblem } from './problems.js';
import { type KeySchema, schemasAt } from './schema.js';

/** The values of a configuration source, and where each of them is written. */
export interface Source {
  /** Plain values; undefined if the text could not be parsed at all. */
  readonly values: unknown;
  readonly problems: readonly Problem[];
  /** "FILE:LINE:COLUMN" of the value or the key at `path`, or of the nearest group around it in the file. Default: the value. */
  locate(path: Path, about?: Finding['about']): string;
}

interface SourceOptions {
  /** The name of the file in messages. */
  readonly file: string;
  readonly syntax: 'yaml' | 'json';
  /** Converts a string to its value. The value undefined leaves the key out. */
  readonly readText?: (text: string, path: Path) => TextReading;
}

export type TextReading = { readonly value: unknown } | { readonly problem: string };

/** In characters. The parser blocks the event loop for about a microsecond per character. */
const TEXT_MAX_LENGTH = 64 * 1024;
/** Maximum nesting of groups and lists. */
const DEPTH_MAX = 64;

interface Parsed<Data> {
  /** Undefined when there are problems. */
  readonly data?: Data;
  readonly problems: readonly Problem[];
  readonly source: Source;
}

/** Parses YAML or JSON by a schema. An empty file is one without keys. */
export function parsedBy<Data>(schema: z.ZodType<Data>, text: string, options: SourceOptions): Parsed<Data> {
  const source = textSource(text, options);
  if (source.problems.length > 0) return { problems: source.problems, source };
  const { success, data, error } = schema.safeParse(source.values ?? {});
  if (success) return { data, problems: [], source };
  const root = z.toJSONSchema(schema, { io: 'input' }) as KeySchema;
  const findings = findingsOf(error.issues, (path) => schemasAt(path, root));
  return { problems: findings.map((one) => toProblem(one, source)), source };
}

/** Writes a value as YAML, with each text on one line. */
export const yamlText = (value: unknown): string => stringify(value, { lineWidth: 0 });

/** Parses YAML or JSON. Never throws: errors are in `problems`, and quote nothing of the text, which may hold secrets. */
export function textSource(text: string, options: SourceOptions): Source {
  if (text.length > TEXT_MAX_LENGTH) {
    const start = `${options.file}:1:1`;
    const problem = { at: start, key: '', text: `is larger than ${TEXT_MAX_LENGTH} characters` };
    return { values: undefined, problems: [problem], locate: () => start };
  }
  const lines = new LineCounter();
  const document = documentOf(text, lines, options);
  const at = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${options.file}:${line}:${col}`;
  };
  const locate = (path: Path, about?: Finding['about']): string =>
    at(offsetOf((about === 'key' && keyNode(document, path)) || valueNode(document, path)));
  const broken = [...document.errors, ...document.warnings];
  if (broken.length > 0) {
    // The first error of a line causes the others.
    const firsts = Map.groupBy(broken, ({ pos }) => lines.linePos(pos[0]).line).values();
    const problems = [...firsts].slice(0, PROBLEMS_MAX).map(([error]) => ({
      at: at(error!.pos[0]),
      key: '',
      // The parser runs out of stack only far beyond the limit.
      text:
        error!.code === 'RESOURCE_EXHAUSTION'
          ? TOO_DEEP
          : `${error!.message.replace(QUOTE, '')}${adviceAt(text, error!.pos[0])}`,
    }));
    return { values: undefined, problems, locate };
  }
  const problems: Problem[] = [];
  const report = (node: unknown, path: Path, problem: string): void => {
    problems.push({ at: at(offsetOf(node)), key: keyOf(path), text: problem });
  };
  const values = toValue(document.contents, [], { options, report });
  return { values, problems, locate };
}

const TOO_DEEP = `is nested deeper than ${DEPTH_MAX} levels`;

function documentOf(text: string, lineCounter: LineCounter, { syntax }: SourceOptions): Document.Parsed {
  const { stackTraceLimit } = Error;
  // The stacks of the parser's errors are not used, and one text may cause tens of thousands of errors.
  Error.stackTraceLimit = 0;
  try {
    return parseDocument(text, {
      lineCounter,
      prettyErrors: false,
      schema: syntax === 'json' ? 'json' : 'core',
      logLevel: 'silent',
      // The parser would compare each key with all others. `toObject` finds duplicate keys faster.
      uniqueKeys: false,
    });
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** Returns advice for an error at a variable inside `{ }` or `[ ]`, where YAML ends a value at the variable's brace. */
function adviceAt(text: string, offset: number): string {
  const isVariable = text.slice(0, offset).endsWith('$') && text[offset] === '{';
  return isVariable ? '; between { } and [ ], put a value with a variable in quotes: "${NAME}"' : '';
}

interface Reading {
  readonly options: SourceOptions;
  report(node: unknown, path: Path, problem: string): void;
}

/** A key without a value counts as left out, so that a group can be commented out line by line. */
function toValue(node: unknown, path: Path, reading: Reading): unknown {
  if (path.length > DEPTH_MAX) return void reading.report(node, path.slice(0, 1), TOO_DEEP);
  if (isMap(node)) return toObject(node, path, reading);
  if (isSeq(node)) return node.items.map((item, index) => toValue(item, [...path, index], reading));
  if (isAlias(node)) {
    reading.report(node, path, 'uses an alias (*name); write the value out');
    return undefined;
  }
  if (!isScalar(node) || node.value === null) return undefined;
  if (typeof node.value !== 'string' || reading.options.readText === undefined) return node.value;
  const result = reading.options.readText(node.value, path);
  if ('value' in result) return result.value;
  reading.report(node, path, result.problem);
  return undefined;
}

function toObject(map: YAMLMap, path: Path, reading: Reading): unknown {
  const names = new Set<string>();
  const members = map.items.map(({ key, value }): [string, unknown] => {
    const name = isScalar(key) ? String(key.value) : '?';
    if (names.has(name)) reading.report(key, [...path, name], 'appears twice; keep one of them');
    names.add(name);
    return [name, toValue(value, [...path, name], reading)];
  });
  return Object.fromEntries(members.filter(([, value]) => value !== undefined));
}

function valueNode(document: Document, path: Path): unknown {
  let node: unknown = document.contents;
  for (const step of path) {
    const child = isSeq(node) && typeof step === 'number' ? node.items[step] : pairOf(node, step)?.value;
    if (child === undefined || child === null) return node;
    node = child;
  }
  return node;
}

function keyNode(document: Document, path: Path): unknown {
  const name = path.at(-1);
  return name === undefined ? undefined : pairOf(valueNode(document, path.slice(0, -1)), name)?.key;
}

function pairOf(node: unknown, name: PropertyKey): Pair | undefined {
  if (!isMap(node)) return undefined;
  return node.items.find(({ key }) => isScalar(key) && String(key.value) === String(name));
}

/** Some messages of the parser end with the text that they are about, which may be a secret. */
const QUOTE = /(?<!^The ?): .*$/s;

const offsetOf = (node: unknown): number => (node as ParsedNode | Node | null | undefined)?.range?.[0] ?? 0;
