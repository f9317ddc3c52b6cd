import { z } from 'zod';
import { HOME_MARK, group, path, switchOf } from '../../core/fields.js';

export const MIN_PASSPHRASE = 12;

const vault = group('The encrypted store of secrets and keys.', {
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
});

export const SECRET_SETTINGS = {
  vault,
  'tools.secrets': switchOf('Storing secrets and using them by reference.', 'Offer the secret tools.'),
  'tools.crypto': switchOf('Hashes, signatures and encryption.', 'Offer the cryptography tools.'),
};
