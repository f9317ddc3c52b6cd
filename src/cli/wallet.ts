import { z } from 'zod';
import { WALLET_PATH } from '../app.js';
import type { HomeVault } from '../app.js';
import type { CommandContext } from './command.js';
import type { Connection } from './connection.js';
import { EXIT } from './exit.js';
import { askHidden, readPiped } from './hidden-input.js';
import { jsonLine } from './safe-text.js';
import { requestJson } from './server-request.js';
import type { VaultFlags } from './vault-way.js';
import { overVault } from './vault-way.js';

export interface WalletFlags extends VaultFlags {
  readonly json?: boolean;
}

export interface ImportFlags extends WalletFlags {
  readonly replace?: boolean;
}

/** A person's own wallet, whoever has the vault open. */
interface WalletWay {
  address(): Promise<string>;
  import(privateKey: string, options: { readonly replace: boolean }): Promise<string>;
}

/** `lango wallet address` */
export async function showAddress(flags: WalletFlags, context: CommandContext): Promise<number> {
  const address = await withWallet(flags, context, (way) => way.address());
  context.terminal.print(flags.json ? jsonLine({ address }) : address);
  return EXIT.ok;
}

/** `lango wallet import`: the key comes from the terminal, without echo, or from standard input. */
export async function importKey(flags: ImportFlags, context: CommandContext): Promise<number> {
  const { terminal } = context;
  const key = process.stdin.isTTY ? await askHidden('The private key') : await readPiped();
  const replace = flags.replace ?? false;
  const address = await withWallet(flags, context, (way) => way.import(key, { replace }));
  if (flags.json) terminal.print(jsonLine({ address }));
  else terminal.print(`Payments are made from ${address} from now on. Its key is in the vault.`);
  return EXIT.ok;
}

function withWallet<T>(
  flags: VaultFlags,
  context: CommandContext,
  use: (way: WalletWay) => Promise<T>,
): Promise<T> {
  return overVault(flags, context, { ways: { direct, overHttp }, use });
}

function direct({ wallets, scope }: HomeVault): WalletWay {
  return {
    address: () => wallets.address(scope),
    import: (privateKey, options) => wallets.import(scope, privateKey, options),
  };
}

const answerSchema = z.object({ address: z.string() });

function overHttp(connection: Connection): WalletWay {
  const ask = async (method: string, body?: unknown): Promise<string> =>
    answerSchema.parse(await requestJson(connection, { method, path: WALLET_PATH, body })).address;
  return {
    address: () => ask('GET'),
    import: (privateKey, options) => ask('PUT', { privateKey, ...options }),
  };
}
