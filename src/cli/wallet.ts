import { EXIT } from './exit.js';
import { askHidden, readPiped } from './input.js';
import type { OwnerFlags } from './owner-client.js';
import { withOwner } from './owner-client.js';
import { jsonLine } from './safe-text.js';
import type { CommandContext } from './terminal.js';

export interface WalletFlags extends OwnerFlags {
  readonly json?: boolean;
}

export interface ImportFlags extends WalletFlags {
  readonly replace?: boolean;
}

/** `lango wallet address` */
export async function showAddress(flags: WalletFlags, context: CommandContext): Promise<number> {
  const { address } = await withOwner(flags, context, (owner) => owner.readWallet({}));
  context.terminal.print(flags.json ? jsonLine({ address }) : address);
  return EXIT.ok;
}

/** `lango wallet import`: reads the key from the terminal, without echo, or from standard input. */
export async function importKey(flags: ImportFlags, context: CommandContext): Promise<number> {
  const { terminal } = context;
  const privateKey = process.stdin.isTTY ? await askHidden('The private key') : await readPiped();
  const { address } = await withOwner(flags, context, (owner) =>
    owner.importWallet({ privateKey, replace: flags.replace ?? false }),
  );
  if (flags.json) terminal.print(jsonLine({ address }));
  else terminal.print(`Payments are made from ${address} from now on. Its key is in the vault.`);
  return EXIT.ok;
}
