import type { CommandCall, Report } from '../../core/command.js';
import { readHidden } from '../../terminal/input.js';
import { PAYMENT_OPERATIONS } from './operations.js';

/** `lango wallet address` */
export async function showAddress(call: CommandCall): Promise<Report> {
  const { address } = await call.withOwner(PAYMENT_OPERATIONS, (owner) => owner.readWallet({}));
  return { json: { address }, lines: [address] };
}

/** `lango wallet import`: reads the key from the terminal, without echo, or from standard input. */
export async function importKey(call: CommandCall): Promise<Report> {
  const input = {
    privateKey: await readHidden('The private key'),
    replace: call.flags['replace'] === true,
  };
  const { address } = await call.withOwner(PAYMENT_OPERATIONS, (owner) => owner.importWallet(input));
  const text = `Payments are made from ${address} from now on. Its key is in the vault.`;
  return { json: { address }, lines: [text] };
}
