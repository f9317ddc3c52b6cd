import { LangoError } from '../core/errors.js';
import type { LogFields, Logger } from '../core/logger.js';
import type { Scrubber } from '../core/secrets.js';
import { scrubData } from './data.js';

/** Returns a logger that writes no value of a secret, in any form that the scrubber finds. */
export function scrubLogger(logger: Logger, scrubber: Scrubber): Logger {
  const at =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (message: string, fields?: LogFields): void => {
      if (scrubber.isEmpty) logger[level](message, fields);
      else logger[level](scrubber.text(message), fields && scrubFields(fields, scrubber));
    };
  return {
    ...{ debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
    child: (fields) => scrubLogger(logger.child(scrubFields(fields, scrubber)), scrubber),
  };
}

/** Copies errors first, because their texts are not enumerable members. */
function scrubFields(fields: LogFields, scrubber: Scrubber): LogFields {
  if (scrubber.isEmpty) return fields;
  const plain = Object.entries(fields).map(([name, value]) => [name, scrubbed(value, scrubber)]);
  return Object.fromEntries(plain) as LogFields;
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
