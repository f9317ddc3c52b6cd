import { open } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { finished } from 'node:stream/promises';
import { styleText, types } from 'node:util';
import type winston from 'winston';
import { LangoError, errorText } from './core/errors.js';
import type { Audit } from './core/identity.js';
import type { LogFields, Logger } from './core/logger.js';

const LEVELS = { error: 0, warn: 1, info: 2, debug: 3 } as const;
const COLORS = { error: 'red', warn: 'yellow', info: 'green', debug: 'gray' } as const;
const LEVEL_WIDTH = 5;
/** Objects that are nested deeper are left out of a line. */
const MAX_DEPTH = 6;
/** Shorter secrets are not replaced: they would match ordinary text. */
const MIN_SECRET_LENGTH = 4;

type Level = keyof typeof LEVELS;

export interface LoggerOptions {
  readonly level: Level;
  /** `auto`: lines for people on a terminal, JSON lines elsewhere. */
  readonly format: 'auto' | 'pretty' | 'json';
  /** Colors on a terminal. Default: true. */
  readonly color?: boolean;
  /** Values to replace in every line, in plain, base64, hex and URL form. Values may be added while the log is in use. */
  readonly secrets?: ReadonlySet<string>;
  /** Default: standard error. */
  readonly stream?: NodeJS.WritableStream & { readonly isTTY?: boolean };
}

/**
 * Makes the server's log. Writing never throws, whatever a field holds and even after the stream has failed. A terminal
 * shows stacks only at level `debug`. Control characters in messages and fields are escaped, so text from outside can
 * neither start a line of its own nor control the terminal.
 */
export function createLogger(options: LoggerOptions): Logger {
  const stream = options.stream ?? process.stderr;
  const isTerminal = stream.isTTY === true;
  const plain = plainValues(options.secrets ?? new Set(), options.level === 'debug' || !isTerminal);
  const pretty = options.format === 'pretty' || (options.format === 'auto' && isTerminal);
  const write = pretty ? prettyLine(isTerminal && options.color !== false) : jsonLine;
  stream.on('error', () => undefined);
  const openWinston = (): winston.Logger => {
    // Loaded with the first line: loading takes a tenth of the start, and a quiet server writes no line.
    const load = createRequire(import.meta.url);
    const { createLogger: create, format, transports } = load('winston') as typeof winston;
    return create({
      levels: LEVELS,
      level: options.level,
      format: format.printf(({ level, message, fields }) => {
        const shown = { message: plain(message) as string, fields: plain(fields) as LogFields };
        return write({ time: new Date(), level: level as Level, ...shown });
      }),
      transports: [new transports.Stream({ stream })],
    });
  };
  let opened: winston.Logger | undefined;
  return childLogger({ level: options.level, open: () => (opened ??= openWinston()) }, {});
}

interface AuditOptions {
  /** The file for the entries; undefined writes them to `logger`. */
  readonly file: string | undefined;
  /** As `LoggerOptions.secrets`. */
  readonly secrets: ReadonlySet<string>;
  readonly logger: Logger;
}

/** Opens the audit log, as JSON lines in its own file or in the server's log. Rejects with `invalid-config`. */
export async function openAudit({ file, secrets, logger }: AuditOptions) {
  if (file === undefined) return { audit: auditTo(logger), close: async () => {} };
  const handle = await open(file, 'a', 0o600).catch((cause: unknown) => {
    const text = `The audit file ${file} cannot be written: ${errorText(cause)}.`;
    throw new LangoError('invalid-config', text, { hint: 'Correct logging.auditFile.', cause });
  });
  const stream = handle.createWriteStream();
  stream.on('error', (error) => logger.error('the audit file cannot be written', { error: error.message }));
  return {
    audit: auditTo(createLogger({ level: 'info', format: 'json', secrets, stream })),
    /** Resolves once every entry is written. */
    async close() {
      stream.end();
      await finished(stream).catch(() => {});
    },
  };
}

function auditTo(logger: Logger): Audit {
  return ({ operation, outcome, caller, agent, by, subject, from, task, traceId, reason }) => {
    const { owner, tenant } = caller ?? {};
    const who = { owner: owner || undefined, tenant: tenant || undefined };
    logger.info('audit', { operation, outcome, agent, by, subject, from, task, traceId, reason, ...who });
  };
}

interface Sink {
  readonly level: Level;
  open(): winston.Logger;
}

function childLogger(sink: Sink, bound: LogFields): Logger {
  const at =
    (level: Level) =>
    (message: string, fields: LogFields = {}): void => {
      if (LEVELS[level] > LEVELS[sink.level]) return;
      sink.open().log({ level, message, fields: { ...bound, ...fields } });
    };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => childLogger(sink, { ...bound, ...fields }),
  };
}

interface Line {
  readonly time: Date;
  readonly level: Level;
  readonly message: string;
  readonly fields: LogFields;
}

function jsonLine({ time, level, message, fields }: Line): string {
  const head = { time: time.toISOString(), level, message };
  return JSON.stringify({ ...head, ...fields, ...head });
}

function prettyLine(color: boolean): (line: Line) => string {
  const paint = (style: Parameters<typeof styleText>[0], text: string): string =>
    color ? styleText(style, text, { validateStream: false }) : text;
  return ({ time, level, message, fields }) => {
    const clock = time.toTimeString().slice(0, 8);
    const pairs = Object.entries(fields).map(
      ([key, value]) => ` ${paint('dim', `${visible(key)}=`)}${shown(value)}`,
    );
    return `${paint('dim', clock)} ${paint(COLORS[level], level.padEnd(LEVEL_WIDTH))} ${visible(message)}${pairs.join('')}`;
  };
}

function shown(value: unknown): string {
  if (typeof value === 'string' && /^[\w./:@-]+$/.test(value)) return value;
  return visible(JSON.stringify(value));
}

/** Escapes control characters, so that a line stays one line and cannot control the terminal. */
function visible(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** Returns a function that turns any value into JSON data without secrets and undefined members. Never throws. */
function plainValues(secrets: ReadonlySet<string>, withStack: boolean): (value: unknown) => unknown {
  const redact = redaction(secrets);
  const convert = (value: unknown, above: readonly object[]): unknown => {
    if (typeof value === 'string') return redact(value);
    if (typeof value === 'number' || typeof value === 'boolean' || value === null) return value;
    if (value === undefined) return undefined;
    if (typeof value === 'bigint') return value.toString();
    if (typeof value !== 'object') return `[${typeof value}]`;
    if (above.includes(value) || above.length === MAX_DEPTH) return '[…]';
    const inner = (child: unknown): unknown => attempt(child, [...above, value]);
    if (types.isNativeError(value)) return inner(errorFields(value, withStack));
    if (Array.isArray(value)) return value.map(inner);
    if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
    if (hasOwnForm(value)) return inner(value.toJSON());
    const entries: [unknown, unknown][] = types.isMap(value) ? [...value] : Object.entries(value);
    const present = entries.filter(([, child]) => child !== undefined);
    return Object.fromEntries(present.map(([key, child]) => [redact(String(key)), inner(child)]));
  };
  const attempt = (value: unknown, above: readonly object[]): unknown => {
    try {
      return convert(value, above);
    } catch {
      return '[unreadable]';
    }
  };
  return (value) => attempt(value, []);
}

function hasOwnForm(value: object): value is { toJSON(): unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}

function errorFields(error: Error, withStack: boolean): LogFields {
  const { name, message, stack, cause } = error;
  const code = error instanceof LangoError ? error.code : undefined;
  return { name, message, code, stack: withStack ? stack : undefined, cause };
}

function redaction(secrets: ReadonlySet<string>): (text: string) => string {
  let forms: Forms = new Map();
  let known = 0;
  return (text) => {
    if (known !== secrets.size) {
      known = secrets.size;
      const all = [...secrets].flatMap(formsOf).sort((a, b) => b.length - a.length);
      forms = Map.groupBy(all, (form) => form.slice(0, MIN_SECRET_LENGTH));
    }
    return redacted(text, forms);
  };
}

/** The forms of secrets by their beginnings, the longest first: the cost of a text does not grow with the secrets. */
type Forms = ReadonlyMap<string, readonly string[]>;

/** Secrets that overlap are redacted as one. */
function redacted(text: string, forms: Forms): string {
  let shown = '';
  let end = 0;
  for (let at = 0; forms.size > 0 && at + MIN_SECRET_LENGTH <= text.length; at += 1) {
    const sameBeginning = forms.get(text.slice(at, at + MIN_SECRET_LENGTH));
    const form = sameBeginning?.find((one) => text.startsWith(one, at));
    if (form === undefined) continue;
    if (at >= end) shown += `${text.slice(end, at)}[redacted]`;
    end = Math.max(end, at + form.length);
  }
  return shown + text.slice(end);
}

function formsOf(secret: string): readonly string[] {
  if (secret.length < MIN_SECRET_LENGTH) return [];
  const bytes = Buffer.from(secret);
  const encoded = [bytes.toString('base64'), bytes.toString('base64url'), bytes.toString('hex')];
  return [secret, encodeURIComponent(secret), ...encoded];
}
