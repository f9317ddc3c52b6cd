import { isUtf8 } from 'node:buffer';
import { isDeepStrictEqual } from 'node:util';
import { LangoError } from '../core/errors.js';
import { mapMembers } from '../core/json.js';
import type { LogFields, Logger } from '../core/logger.js';
import type { Message } from '../core/message.js';
import type { Scrubber } from '../core/secrets.js';
import type { EventBody } from '../core/task.js';
import { mapTexts } from '../core/text.js';

/** Scrubs texts, names of members and bytes of files in plain data. Returns the same object when nothing was found. */
export function scrubData<T>(value: T, scrubber: Scrubber): T {
  if (scrubber.isEmpty) return value;
  return mapTexts(value, (text, isBytes) =>
    isBytes ? scrubBase64(text, scrubber) : scrubber.text(text),
  ) as T;
}

/** Scrubs the bytes of a file: UTF-8 as text, other content byte by byte. */
function scrubBase64(base64: string, scrubber: Scrubber): string {
  const bytes = Buffer.from(base64, 'base64');
  const encoding = isUtf8(bytes) ? 'utf8' : 'latin1';
  const text = bytes.toString(encoding);
  const scrubbed = scrubber.text(text);
  return scrubbed === text ? base64 : Buffer.from(scrubbed, encoding).toString('base64');
}

/** Scrubs the texts, arguments and results in an event. Ids, keys and states stay unchanged. */
export function scrubEvent<Body extends EventBody>(body: Body, scrubber: Scrubber): Body {
  if (scrubber.isEmpty) return body;
  const scrubbed = scrubBody(body, scrubber) as Body;
  if (!('from' in scrubbed) || isDeepStrictEqual(scrubbed, body)) return scrubbed;
  // It no longer repeats the entries of the other task.
  const { from: _, ...own } = scrubbed;
  return own as Body;
}

function scrubBody(body: EventBody, scrubber: Scrubber): EventBody {
  const members = <T extends object>(value: T, names: readonly MemberOf<T>[]): T =>
    scrubMembers(value, names, scrubber);
  switch (body.type) {
    case 'text-delta':
      return members(body, ['text']);
    case 'tool-call':
      return members(body, ['arguments']);
    case 'delegation-start':
      return members(body, ['request']);
    case 'artifact':
      return {
        ...members(body, ['metadata']),
        artifact: { ...scrubData(body.artifact, scrubber), id: body.artifact.id },
        ...(body.reply ? { reply: members(body.reply, ['metadata']) } : {}),
      };
    case 'message':
      return { ...members(body, ['request']), message: scrubMessage(body.message, scrubber) };
    case 'turn-end': {
      // A vendor expects its opaque blocks back unchanged, so one that holds a secret is left out.
      const kept = body.content.filter((one) => one.type !== 'opaque' || scrubData(one, scrubber) === one);
      return {
        ...members(body, ['refusal']),
        content: kept.map((one) => members(one, ['text', 'arguments', 'invalid'])),
      };
    }
    case 'tool-result':
      return { ...members(body, ['asks']), result: members(body.result, ['content', 'images']) };
    case 'activity':
      return { ...body, activity: members(body.activity, ['text', 'arguments', 'request']) };
    case 'question':
      return { ...body, question: members(body.question, ['text', 'arguments']) };
    case 'status':
    case 'delegation-end':
    case 'run-end':
      return {
        ...members(body, ['metadata']),
        ...('result' in body && { result: members(body.result, ['content', 'images']) }),
        ...('message' in body && body.message && { message: scrubMessage(body.message, scrubber) }),
        ...(body.questions && {
          questions: body.questions.map((one) => members(one, ['text', 'arguments'])),
        }),
      };
    case 'fork':
      return members(body, ['instruction']);
    case 'run-start':
    case 'turn-start':
    case 'results-cleared':
    case 'delegation-task':
    case 'question-expiry':
    case 'cancel-request':
      return body;
  }
}

/** Scrubs parts and metadata. The id and references stay unchanged. */
export function scrubMessage(message: Message, scrubber: Scrubber): Message {
  return scrubber.isEmpty ? message : scrubMembers(message, ['parts', 'metadata'], scrubber);
}

/** The names of the members of all alternatives of a union. */
type MemberOf<T> = T extends unknown ? keyof T : never;

/** Scrubs the named members of an object, where it has them. Its other members stay unchanged. */
function scrubMembers<T extends object>(value: T, names: readonly MemberOf<T>[], scrubber: Scrubber): T {
  const named = Object.entries(value).filter(([name]) => names.some((one) => one === name));
  const scrubbed = named.map(([name, member]): [string, unknown] => [name, scrubData(member, scrubber)]);
  return { ...value, ...Object.fromEntries(scrubbed) };
}

/** Returns a logger that writes no value of a secret, in any form that the scrubber of that moment finds. */
export function scrubLogger(logger: Logger, current: () => Scrubber): Logger {
  const at =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (message: string, fields?: LogFields): void => {
      const scrubber = current();
      if (scrubber.isEmpty) logger[level](message, fields);
      else logger[level](scrubber.text(message), fields && scrubFields(fields, scrubber));
    };
  return {
    ...{ debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
    child: (fields) => scrubLogger(logger.child(scrubFields(fields, current())), current),
  };
}

/** Copies errors first, because their texts are not enumerable members. */
function scrubFields(fields: LogFields, scrubber: Scrubber): LogFields {
  return scrubber.isEmpty ? fields : mapMembers(fields, (value) => scrubbed(value, scrubber));
}

function scrubbed(value: unknown, scrubber: Scrubber): unknown {
  if (!(value instanceof Error)) {
    try {
      return scrubData(value, scrubber);
    } catch {
      return '[unreadable]';
    }
  }
  const code = value instanceof LangoError ? value.code : 'internal';
  const copy = new LangoError(code, scrubber.text(value.message), { cause: scrubbed(value.cause, scrubber) });
  if (value.stack !== undefined) copy.stack = scrubber.text(value.stack);
  return copy;
}
