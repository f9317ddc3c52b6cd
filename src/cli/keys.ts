import { loadConfig } from '../config/load.js';
import type { KeyInfo } from '../config/node-credentials.js';
import { listKeys, rotateKeys } from '../config/node-credentials.js';
import type { CommandContext } from './command.js';
import type { ConnectionFlags } from './connection.js';
import { overridesOf } from './connection.js';
import { EXIT } from './exit.js';
import { jsonLine } from './safe-text.js';

export interface KeysFlags extends Pick<ConnectionFlags, 'home' | 'config'> {
  readonly json?: boolean;
}

/** `lango keys list`: the keys that this node signs with, without their private halves. */
export async function showKeys(flags: KeysFlags, context: CommandContext): Promise<number> {
  return print(await listKeys(await homeOf(flags, context)), flags, context);
}

/** `lango keys rotate`: a new key from now on; what the one before signed can still be checked for 30 days. */
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
