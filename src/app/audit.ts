import type { WriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { finished } from 'node:stream/promises';
import type { Config } from '../config/config.js';
import type { Audit } from '../core/identity.js';
import { LangoError, errorText } from '../core/errors.js';
import type { Logger } from '../core/logger.js';
import { createLogger } from '../logging.js';

export interface AuditParts {
  readonly config: Config;
  /** What no line may show. It may grow. */
  readonly hidden: ReadonlySet<string>;
  readonly logger: Logger;
}

export interface OpenAudit {
  readonly audit: Audit;
  /** Resolves once every line is written. */
  readonly close: () => Promise<void>;
}

/** The record of who did what: in the log, or in a file of its own. Rejects with `invalid-config` when that cannot be written. */
export async function openAudit({ config: { logging }, hidden, logger }: AuditParts): Promise<OpenAudit> {
  if (logging.auditFile === undefined) return { audit: writer(logger), close: async () => {} };
  const stream = await openFile(logging.auditFile);
  stream.on('error', (error) => logger.error('the audit file cannot be written', { error: error.message }));
  const own = createLogger({ level: 'info', format: 'json', secrets: hidden, stream });
  return {
    audit: writer(own),
    async close() {
      stream.end();
      await finished(stream).catch(() => {});
    },
  };
}

function writer(logger: Logger): Audit {
  return ({ caller, ...entry }) => {
    const { owner, tenant } = caller ?? {};
    logger.info('audit', { ...entry, ...(owner ? { owner } : {}), ...(tenant ? { tenant } : {}) });
  };
}

async function openFile(file: string): Promise<WriteStream> {
  try {
    const handle = await open(file, 'a', 0o600);
    return handle.createWriteStream();
  } catch (error) {
    throw new LangoError('invalid-config', `The audit file ${file} cannot be written: ${errorText(error)}.`, {
      hint: 'Correct logging.auditFile.',
      cause: error,
    });
  }
}
