import { z } from 'zod';
import { DEFAULT_LIMITS } from './agent-keys.js';
import { HOME_MARK, count, path, seconds, text, toolName, KIB } from './fields.js';

export const storage = z
  .strictObject({
    sqlite: z
      .strictObject({
        file: path()
          .default(`${HOME_MARK}/lango.db`)
          .describe('The database file. `:memory:` keeps nothing after the server stops.'),
        synchronous: z
          .enum(['normal', 'full'])
          .default('normal')
          .describe(
            '`normal`: commits survive a crash of the program. `full`: they also survive a loss of power.',
          ),
      })
      .prefault({})
      .describe('The embedded database.'),
  })
  .prefault({})
  .describe('The database that holds tasks.');

const MAX_DAYS = 36_500;

export const tasks = z
  .strictObject({
    retentionDays: z
      .int()
      .min(0)
      .max(MAX_DAYS)
      .default(90)
      .describe(
        'Days after its end that a task is kept. Then it is removed with its events, artifacts and push configs. 0 keeps tasks forever.',
      ),
    events: count()
      .min(100)
      .default(100_000)
      .describe('The most journal entries of one task. A task that needs more fails.'),
    eventBytes: count(16 * KIB * KIB)
      .min(KIB)
      .default(256 * KIB)
      .describe(
        'The largest journal entry, in bytes: a message or an artifact, for example. Larger ones are refused.',
      ),
  })
  .prefault({})
  .describe('Limits of tasks, and how long they are kept.');

export const workspace = z
  .array(path())
  .min(1)
  .default([`${HOME_MARK}/workspace`])
  .describe('Folders that the file and command tools may work in. They cannot reach anything outside.');

export const MIN_PASSPHRASE = 12;

export const vault = z
  .strictObject({
    keyFile: path()
      .default(`${HOME_MARK}/vault.key`)
      .describe(
        'The file with the master key, used unless there is a passphrase. It is created at first use. Keep a copy of it elsewhere.',
      ),
    passphrase: z
      .string()
      .min(MIN_PASSPHRASE, `must have at least ${MIN_PASSPHRASE} characters`)
      .optional()
      .meta({
        description:
          'The passphrase that the master key is derived from, instead of a key file. Default: `LANGO_VAULT_PASSPHRASE`, if it is set.',
        writeOnly: true,
      }),
  })
  .prefault({})
  .describe('The encrypted store of secrets and keys.');

export const approval = z
  .strictObject({
    policy: z
      .union([z.enum(['dangerous', 'all', 'none']), z.array(toolName())])
      .default('dangerous')
      .describe(
        'The tool calls that need approval: `dangerous` ones, `all`, `none`, or the calls of the listed tools.',
      ),
    expirySeconds: seconds()
      .default(DEFAULT_LIMITS.approvalSeconds)
      .describe(
        'How long a call waits for approval, in seconds. After that, the call is not made, and the model gets an error result.',
      ),
  })
  .prefault({})
  .describe('When a person is asked for approval.');

export const egress = z
  .strictObject({
    allowPrivate: z
      .array(text())
      .default([])
      .describe('Hosts that may have a private or loopback address, as `name` or `name:port`.'),
  })
  .prefault({})
  .describe('Outgoing requests.');

export const logging = z
  .strictObject({
    level: z
      .enum(['debug', 'info', 'warn', 'error'])
      .default('info')
      .describe('The lowest level that is logged. `LANGO_LOG_LEVEL` overrides it.'),
    format: z
      .enum(['auto', 'pretty', 'json'])
      .default('auto')
      .describe('`auto`: readable lines on a terminal, JSON lines elsewhere.'),
    auditFile: path()
      .optional()
      .describe(
        'The file for the audit log, as JSON lines. Default: none; audit records go to the log at level `info`.',
      ),
  })
  .prefault({})
  .describe('The log, on standard error.');
