import { existsSync } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { resolve, sep } from 'node:path';
import { z } from 'zod';
import { LangoError, serverStopping } from '../../../core/errors.js';
import type { Logger } from '../../../core/logger.js';
import { referencedSecrets, replaceReferences, secretReference } from '../../../core/secrets.js';
import type { Scrubber } from '../../../core/secrets.js';
import type { Scope } from '../../../core/task.js';
import type { ToolContext } from '../../../core/tool.js';
import type { DiskBudget } from '../../../disk/disk-budget.js';
import type { WorkFolders } from '../../../disk/work-folders.js';
import type { openForwarder } from '../../../http/forwarder.js';
import { withoutNul } from '../fs/paths.js';
import { changesField, describeChanges, type Changes } from '../requests.js';
import type { CommandGroups } from './cgroup.js';
import { baseEnvironment, unsandboxedLaunch } from './launch.js';
import type { ExecLimits, Sandbox, ShellCommand } from './launch.js';
import { startProcess, type Process } from './process.js';

/** The kernel accepts 128 KiB per argument, and a character has at most 3 bytes here. */
const COMMAND_MAX_LENGTH = 40_000;
const VARIABLES_MAX = 64;

/** The input fields that `exec` and `exec_background` share. */
export const COMMAND_FIELDS = {
  command: withoutNul(COMMAND_MAX_LENGTH).min(1).describe('A shell command line'),
  cwd: withoutNul(4_096).optional().describe('The workspace by default'),
  env: z
    .record(
      z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be a variable name of letters, digits and _'),
      withoutNul(COMMAND_MAX_LENGTH),
    )
    .refine((env) => Object.keys(env).length <= VARIABLES_MAX, `at most ${VARIABLES_MAX} variables`)
    .optional()
    .describe('Variables; a secret as {{secret:NAME}}'),
  changes: changesField(),
};

type CommandInput = z.infer<z.ZodObject<typeof COMMAND_FIELDS>>;

/** The tools that run commands. */
export type CommandTool = 'exec' | 'exec_background';

export interface ExecOptions {
  /** The folders that commands may work in. Commands start in the first. */
  readonly folders: WorkFolders;
  readonly budget: DiskBudget;
  /** From `findSandbox`. Undefined: commands run as the server's own user, and each is `dangerous`. */
  readonly sandbox: Sandbox | undefined;
  /** Undefined: commands are in the cgroup of the server. */
  readonly groups?: CommandGroups | undefined;
  /** Whether sandboxed commands share the host's network, its loopback services and abstract Unix sockets: all or none. */
  readonly network: boolean;
  /** The server's environment. Commands see only the variables named by `envAllow`. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly envAllow: readonly string[];
  /** Further existing folders that commands of this owner may read: the folders of skills. */
  readonly readable?: (scope: Scope) => readonly string[];
  /** Opens a forwarder for one command, so that its requests can carry secrets that it cannot read. */
  readonly openForwarder?:
    | ((
        scope: Scope,
        command: { readonly tool: CommandTool; readonly changes?: Changes },
      ) => ReturnType<typeof openForwarder>)
    | undefined;
  /** Removes the secrets of an owner from the output of a command before it is stored. Default: no scrubber. */
  readonly scrubber?: (scope: Scope) => Scrubber;
  readonly limits: ExecLimits;
  readonly logger: Logger;
}

type Forwarder = Awaited<ReturnType<NonNullable<ExecOptions['openForwarder']>>>;

/** A started command. `ended` resolves after the disk budget has counted what the command wrote. */
export interface Command extends Process {
  /** The exceeded limit of the disk or of memory for which the command was stopped, if any. */
  problem(): LangoError | undefined;
}

const FILE_LIMIT_BYTES = 1024 ** 3;

/** Starts commands and tracks them, so that none outlives the server. */
export class Runner {
  readonly #running = new Set<Process>();
  readonly #shell = existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh';
  readonly #killAll = () => this.#running.forEach((child) => child.killNow());
  #isClosed = false;
  readonly #options: ExecOptions;

  constructor(options: ExecOptions) {
    this.#options = options;
    process.on('exit', this.#killAll);
  }

  /**
   * Starts a command of a call of this tool, with the values of its secrets. Rejects with `invalid-input` for a folder
   * outside the workspace, with `limit-reached` when the disk budget is used up, and with `unavailable` after `close`.
   */
  async start(tool: CommandTool, given: CommandInput, context: ToolContext): Promise<Command> {
    const input = await withSecrets(given, context);
    const { folders, budget, groups, sandbox, network, scrubber, readable, limits } = this.#options;
    const roots = await folders.openReal(context);
    const cwd = await resolveFolder(roots, input.cwd ?? '.');
    const fileBytes = Math.min(await budget.remainingBytes(context), FILE_LIMIT_BYTES);
    let child: Process | undefined;
    let forwarder: Forwarder | undefined;
    let outOfMemory: LangoError | undefined;
    const watch = await budget.watch(context, () => void child?.stop());
    const group = await groups?.make();
    try {
      forwarder = await this.#options.openForwarder?.(context, { ...input, tool });
      if (this.#isClosed) throw serverStopping();
      const reach = forwarder && { LANGO_HTTP: forwarder.socket };
      const command: ShellCommand = {
        ...{ shell: this.#shell, command: input.command, cwd },
        env: { ...reach, ...this.#environment(roots), ...input.env },
        writable: roots,
        readable: [...(readable?.(context) ?? []), ...(forwarder ? [forwarder.folder] : [])],
        ...{ fileBytes, limits },
      };
      const launch = sandbox?.launch(command, network) ?? unsandboxedLaunch(command);
      child = startProcess(group?.launch(launch) ?? launch, limits.outputBytes, scrubber?.(context));
    } catch (error) {
      await group?.close();
      await forwarder?.close();
      await watch.settle();
      throw error;
    }
    // oxlint-disable-next-line typescript/no-misused-promises -- finally() waits for the promise
    const released = child.ended.finally(async () => {
      this.#running.delete(running);
      outOfMemory = await group?.close();
      await forwarder?.close();
    });
    const running: Process = { ...child, stop: () => child.stop().then(() => released) };
    this.#running.add(running);
    // oxlint-disable-next-line typescript/no-misused-promises -- likewise
    const ended = released.finally(() => watch.settle());
    ended.catch(() => undefined);
    const problem = () => watch.problem ?? outOfMemory;
    return { ...running, ended, stop: () => running.stop().then(() => ended), problem };
  }

  /** Ends all commands. Resolves when none is running. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled([...this.#running].map((child) => child.stop()));
    process.off('exit', this.#killAll);
  }

  #environment([home = '/']: readonly string[]): Record<string, string> {
    const { environment, envAllow } = this.#options;
    const allowed = envAllow.flatMap((name) => {
      const value = environment[name];
      return value === undefined ? [] : [[name, value] as const];
    });
    return { ...baseEnvironment(home), TERM: 'dumb', ...Object.fromEntries(allowed) };
  }
}

/** The secrets whose values a command would get. */
export function secretsOf({ command = '', env = {} }: Partial<CommandInput>): readonly string[] {
  return referencedSecrets([command, ...Object.values(env)].join('\n'));
}

/** Whether a person is asked before a command that runs in the sandbox. */
export function needsPerson(input: Partial<CommandInput>): boolean {
  return secretsOf(input).length > 0 || describeChanges(input.changes) !== '';
}

/** Describes a command for the person who is asked to approve it. */
export function describeCommand({ command = '', ...input }: Partial<CommandInput>): string {
  const names = secretsOf({ command, ...input });
  const what = `run the command ${JSON.stringify(command)}${describeChanges(input.changes)}`;
  if (names.length === 0) return what;
  return `${what} with the value of the secret ${names.join(', ')}, which the command can read, change and print`;
}

/** Tells readers that the output may contain these secrets in a form that the scrubber does not recognize. */
export function secretsNote(names: readonly string[]) {
  return names.length === 0 ? {} : { mayContainSecrets: names };
}

async function resolveFolder(roots: readonly string[], given: string): Promise<string> {
  const folder = await realpath(resolve(roots[0] ?? '/', given)).catch(() => undefined);
  const isInside = roots.some((root) => folder === root || folder?.startsWith(root + sep));
  if (folder === undefined || !isInside || !(await stat(folder)).isDirectory()) {
    const advice = 'use a path relative to the workspace, such as "."';
    throw new LangoError('invalid-input', `cwd: "${given}" is not a folder in the workspace; ${advice}.`);
  }
  return folder;
}

/**
 * Resolves the secrets that `input` refers to, and passes their values in the environment only. A reference in the
 * command line becomes a variable, quoted as its position requires. So no process list shows the value, and the shell
 * interprets nothing in it.
 */
export async function withSecrets(input: CommandInput, context: ToolContext): Promise<CommandInput> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(input.env ?? {}))
    env[name] = await context.resolveSecrets(value);
  const names = referencedSecrets(input.command);
  const variables = new Map(names.map((name, index) => [name, `LANGO_SECRET_${index + 1}`]));
  for (const [name, variable] of variables)
    env[variable] = await context.resolveSecrets(secretReference(name));
  const command = names.length === 0 ? input.command : withVariables(input.command, variables);
  return { ...input, command, env };
}

/** The parts of a command line: an escaped character, a text in single or in double quotes, and any other text. */
const PARTS = /\\[^]|'[^']*'?|"(?:\\[^]|[^\\"])*"?|[^\\'"]+/g;
const ESCAPED = /(\\[^])/;

/** Single quotes, in which the shell expands nothing, end before a variable and start again after it. */
function withVariables(command: string, variables: ReadonlyMap<string, string>): string {
  const expanded = (text: string, before: string, after: string) =>
    replaceReferences(text, (name) => `${before}\${${variables.get(name)}}${after}`);
  return command.replace(PARTS, (part) => {
    if (part.startsWith('\\')) return part;
    if (part.startsWith("'")) return expanded(part, `'"`, `"'`);
    if (!part.startsWith('"')) return expanded(part, '"', '"');
    const pieces = part.split(ESCAPED);
    return pieces.map((piece, index) => (index % 2 === 1 ? piece : expanded(piece, '', ''))).join('');
  });
}
