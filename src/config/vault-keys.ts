import { z } from 'zod';
import { HOME_MARK, path } from './fields.js';

export const MIN_PASSPHRASE = 12;

export const vault = z
  .strictObject({
    keyFile: path()
      .default(`${HOME_MARK}/vault.key`)
      .describe(
        'The file with the master key, made at first use when there is no passphrase. Keep a copy of it elsewhere.',
      ),
    passphrase: z
      .string()
      .min(MIN_PASSPHRASE, `must have at least ${MIN_PASSPHRASE} characters`)
      .optional()
      .meta({
        description:
          'What the master key is made from, in the place of a file. Default: `LANGO_VAULT_PASSPHRASE`, if it is set.',
        writeOnly: true,
      }),
  })
  .prefault({})
  .describe('Where secrets and keys are kept, encrypted.');
