import { z } from 'zod';
import { DEFAULT_LIMITS } from './agent-keys.js';
import { skillsTools } from './skills-keys.js';
import { browserTools } from './browser-keys.js';
import { knowledgeTools, searchTools } from './knowledge-keys.js';
import { HOME_MARK, count, path, seconds, text, toolName, variableName, KIB, MIB } from './fields.js';
import { memoryTools } from './memory-keys.js';
import { cryptoTools, secretsTools } from './vault-tool-keys.js';

export const storage = z
  .strictObject({
    sqlite: z
      .strictObject({
        file: path()
          .default(`${HOME_MARK}/lango.db`)
          .describe('The database file; `:memory:` keeps nothing after the end.'),
        synchronous: z
          .enum(['normal', 'full'])
          .default('normal')
          .describe('`normal` survives a crash of the program, `full` also a loss of power.'),
      })
      .prefault({})
      .describe('The embedded database.'),
  })
  .prefault({})
  .describe('Where tasks are kept.');

export const workspace = z
  .array(path())
  .min(1)
  .default([`${HOME_MARK}/workspace`])
  .describe('Folders that the file and command tools may work in. Nothing outside them is reachable.');

const fsTools = z
  .strictObject({
    enabled: z.boolean().default(true).describe('Offer the file tools.'),
    maxReadBytes: count()
      .default(48 * KIB)
      .describe(
        'What one read takes from a file at most. More than `agent.limits.toolOutputBytes` would be cut.',
      ),
    maxWriteBytes: count()
      .default(10 * MIB)
      .describe('Size of a file that is written.'),
  })
  .prefault({})
  .describe('Reading and writing files of the workspace.');

const execTools = z
  .strictObject({
    enabled: z.boolean().default(true).describe('Offer the command tools.'),
    sandbox: z
      .enum(['auto', 'required', 'off'])
      .default('auto')
      .describe(
        '`auto`: in a sandbox where there is one, else each command is a dangerous call and waits for approval. `required`: no sandbox, no command. `off`: never; each command is a dangerous call.',
      ),
    network: z.boolean().default(false).describe('Commands in the sandbox may use the network.'),
    envAllow: z
      .array(variableName())
      .default([])
      .describe('Environment variables of the server that commands may see.'),
    timeoutSeconds: seconds()
      .default(120)
      .describe('Longest time of one command, unless the call asks for less.'),
    cpuSeconds: count().default(60).describe('Processor time of one process.'),
    memoryMb: count().default(1024).describe('Memory of one process.'),
    processes: count().default(128).describe('Processes at once.'),
    outputBytes: count()
      .default(24 * KIB)
      .describe('Output kept of each stream of a command; the middle is left out beyond it.'),
  })
  .prefault({})
  .describe('Running commands.');

export const tools = z
  .strictObject({
    fs: fsTools,
    exec: execTools,
    browser: browserTools,
    secrets: secretsTools,
    crypto: cryptoTools,
    knowledge: knowledgeTools,
    search: searchTools,
    skills: skillsTools,
    memory: memoryTools,
  })
  .prefault({})
  .describe('The tool families.');

export const approval = z
  .strictObject({
    policy: z
      .union([z.enum(['dangerous', 'all', 'none']), z.array(toolName())])
      .default('dangerous')
      .describe(
        'Tool calls that wait for a person: the dangerous ones, all, none, or those of the tools named in a list.',
      ),
    expirySeconds: seconds()
      .default(DEFAULT_LIMITS.approvalSeconds)
      .describe(
        'How long a call waits for a person, in seconds. Without a word by then it is not made, and the model is told so.',
      ),
  })
  .prefault({})
  .describe('When a person is asked.');

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
      .describe('The least level that is written. `LANGO_LOG_LEVEL` wins over it.'),
    format: z
      .enum(['auto', 'pretty', 'json'])
      .default('auto')
      .describe('`auto`: lines for people on a terminal, JSON lines elsewhere.'),
    auditFile: path()
      .optional()
      .describe(
        'Where the record of who did what goes, as JSON lines. Default: none; it stands in the log, at level `info`.',
      ),
  })
  .prefault({})
  .describe('The log, on standard error.');
