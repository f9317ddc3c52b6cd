import { describeConfig } from '../config/describe.js';
import { checkConfig, loadConfig } from '../config/load.js';
import type { KeyInfo } from '../config/node-credentials.js';
import { listKeys, rotateKeys } from '../config/node-credentials.js';
import { configSchema } from '../config/reference.js';
import type { ConnectionFlags } from './connection.js';
import { overridesOf } from './connection.js';
import { EXIT } from './exit.js';
import { createPaint } from './render.js';
import { jsonLine, safeLine } from './safe-text.js';
import type { CommandContext } from './terminal.js';

export interface ConfigFlags {
  readonly home?: string;
  readonly config?: string;
  readonly json?: boolean;
}

/** `lango config check`: lists all that is wrong with the configuration. */
export async function checkFile(flags: ConfigFlags, { env, terminal }: CommandContext): Promise<number> {
  const problems = await checkConfig({ env, overrides: overridesOf(flags) });
  if (flags.json) terminal.print(jsonLine({ ok: problems.length === 0, problems }));
  else if (problems.length === 0) terminal.print('The configuration is valid.');
  else {
    for (const { at, key, text } of problems) {
      terminal.print(safeLine(`${at}: ${key === '' ? '' : `${key} `}${text}`));
    }
  }
  return problems.length === 0 ? EXIT.ok : EXIT.failure;
}

/** `lango config show`: lists each key with its value and the origin of the value. Secrets are left out. */
export async function showConfig(flags: ConfigFlags, { env, terminal }: CommandContext): Promise<number> {
  const loaded = await loadConfig({ env, overrides: overridesOf(flags) });
  const keys = describeConfig(loaded);
  const { home, file } = loaded.config;
  if (flags.json) {
    terminal.print(
      jsonLine({ home, file: file ?? null, keys: keys.map((one) => ({ ...one, value: one.value ?? null })) }),
    );
    return EXIT.ok;
  }
  const paint = createPaint(terminal.color);
  terminal.print(paint.dim(`data folder ${home}, file ${file ?? 'none'}`));
  for (const { key, value, origin } of keys) {
    const shown = value === undefined ? '-' : safeLine(JSON.stringify(value));
    terminal.print(`${key} = ${shown}${origin === 'default' ? '' : paint.dim(`  (${origin})`)}`);
  }
  return EXIT.ok;
}

/** `lango config schema`: prints the JSON Schema of the configuration file, for editors. */
export async function showSchema({ terminal }: CommandContext): Promise<number> {
  terminal.print(JSON.stringify(configSchema(), null, 2));
  return EXIT.ok;
}

export interface KeysFlags extends Pick<ConnectionFlags, 'home' | 'config'> {
  readonly json?: boolean;
}

/** `lango keys list`: lists the public keys of this node. */
export async function showKeys(flags: KeysFlags, context: CommandContext): Promise<number> {
  return print(await listKeys(await homeOf(flags, context)), flags, context);
}

/** `lango keys rotate`: signs with a new key from now on. Signatures of the previous key can be checked for 30 days. */
export async function rotate(flags: KeysFlags, context: CommandContext): Promise<number> {
  return print(await rotateKeys(await homeOf(flags, context)), flags, context);
}

async function homeOf(flags: KeysFlags, { env }: CommandContext): Promise<string> {
  return (await loadConfig({ env, overrides: overridesOf(flags) })).config.home;
}

function print(keys: readonly KeyInfo[], { json }: KeysFlags, { terminal }: CommandContext): number {
  if (json) terminal.print(jsonLine({ keys: keys.map((key) => ({ ...key })) }));
  else if (keys.length === 0) terminal.print('No keys yet: they are made when the server starts.');
  else for (const key of keys) terminal.print(`${key.kid}  ${stateOf(key)}`);
  return EXIT.ok;
}

function stateOf({ createdAt, retiredAt }: KeyInfo): string {
  const made = `made ${new Date(createdAt).toISOString()}`;
  return retiredAt === undefined
    ? `signs now, ${made}`
    : `rotated out ${new Date(retiredAt).toISOString()}, ${made}`;
}
