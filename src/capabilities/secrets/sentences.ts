import type { SentenceRow } from '../../core/capability.js';

/** The sentences that the offline model understands. */
export const SECRET_SENTENCES: readonly SentenceRow[] = [
  ['store the secret {value} as {name}', 'secrets_store'],
  ['store the secret {value} as {name} for commands', 'secrets_store', { for: ['exec'] }],
  ['which secrets are there?', 'secrets_list'],
  ['show the secret {name}', 'secrets_get'],
  ['delete the secret {name}', 'secrets_delete'],
  ['hash {text...}', 'crypto_hash'],
  ['hash {text...} with {algorithm}', 'crypto_hash'],
  ['create a key named {name}', 'crypto_create_key'],
  ['create a {algorithm} key named {name}', 'crypto_create_key'],
  ['create an encryption key named {name}', 'crypto_create_key', { algorithm: 'aes256' }],
  ['which keys are there?', 'crypto_keys'],
  ['sign {text...} with the key {key}', 'crypto_sign'],
  ['sign {text...} with the key {key} as a jws', 'crypto_sign', { format: 'jws' }],
  ['verify the signature {signature} of {text...} with the key {key}', 'crypto_verify'],
  ['encrypt {text...} with the key {key}', 'crypto_encrypt'],
  ['decrypt {ciphertext} with the key {key}', 'crypto_decrypt'],
  ['decrypt {ciphertext} with the key {key} and save it as {saveAs}', 'crypto_decrypt'],
];
