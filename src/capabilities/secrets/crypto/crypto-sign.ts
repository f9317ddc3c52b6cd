import { createPublicKey } from 'node:crypto';
import { z } from 'zod';
import { LangoError } from '../../../core/errors.js';
import type { Scope } from '../../../core/task.js';
import { exactField } from '../../../core/tool-fields.js';
import type { Vault } from '../../../core/vault.js';
import { defineTool, type Tool } from '../../../core/tool.js';
import { isJws, readPublicKey, signBytes, signJws, verifyBytes, verifyJws } from './algorithms.js';
import { keyField, requireSigning, textField } from './keys.js';

const FORMATS = {
  ed25519: 'Ed25519 (RFC 8032), 64 bytes in base64',
  p256: 'ECDSA P-256 with SHA-256, DER in base64',
};

const PUBLIC_KEY_MAX_LENGTH = 2_000;
const SIGNATURE_MAX_LENGTH = 400_000;

const verifySchema = z.strictObject({
  signature: exactField(
    'The signature in base64, as returned by crypto_sign, or a compact JWS',
    SIGNATURE_MAX_LENGTH,
  ),
  text: textField('The signed text; may be omitted for a JWS, which contains it').optional(),
  key: keyField().optional(),
  publicKey: z
    .string()
    .max(PUBLIC_KEY_MAX_LENGTH)
    .optional()
    .describe('A public key as PEM or JWK, instead of a key of the vault'),
});

type VerifyInput = z.infer<typeof verifySchema>;

/** The tools that sign, and verify signatures. */
export function signatureTools(vault: Vault): readonly Tool[] {
  return [
    defineTool({
      name: 'crypto_sign',
      description: 'Signs a text with a named key (ed25519 or p256).',
      schema: z.strictObject({
        text: textField('What to sign'),
        key: keyField(),
        format: z
          .enum(['detached', 'jws'])
          .default('detached')
          .describe(
            'detached (default): only the signature, in base64; jws: text and signature as a compact JWS',
          ),
      }),
      // Signing changes nothing, so it is safe to repeat.
      effect: 'pure',
      danger: 'moderate',
      async execute({ text, key: name, format }, scope) {
        const signing = await requireSigning(vault, scope, name);
        const { algorithm } = signing;
        if (format === 'jws') {
          const jws = await signJws(signing, name, text);
          return { content: { key: name, algorithm, format: 'JWS compact (RFC 7515)', signature: jws } };
        }
        const signature = signBytes(signing, Buffer.from(text)).toString('base64');
        return { content: { key: name, algorithm, format: FORMATS[algorithm], signature } };
      },
    }),
    defineTool({
      name: 'crypto_verify',
      description:
        'Verifies a signature with a named key or a given public key. Returns valid: true or false.',
      schema: verifySchema,
      effect: 'pure',
      async execute(input, scope) {
        const verifying = await publicKeyOf(input, vault, scope);
        const { algorithm } = verifying;
        const { signature, text } = input;
        if (isJws(signature)) {
          const signed = await verifyJws(signature, verifying);
          if (signed === undefined) return { content: { valid: false, algorithm } };
          if (text === undefined || text === signed)
            return { content: { valid: true, algorithm, text: signed } };
          return { content: { valid: false, algorithm, note: 'the signature is for another text' } };
        }
        if (text === undefined) {
          const problem = 'text: it is required, because this signature does not contain it.';
          throw new LangoError('invalid-input', problem);
        }
        const valid = verifyBytes(verifying, Buffer.from(text), Buffer.from(signature, 'base64'));
        return { content: { valid, algorithm } };
      },
    }),
  ];
}

async function publicKeyOf({ key: name, publicKey }: VerifyInput, vault: Vault, scope: Scope) {
  if (publicKey !== undefined && name === undefined) return readPublicKey(publicKey);
  if (name === undefined || publicKey !== undefined) {
    throw new LangoError('invalid-input', 'key, publicKey: give exactly one of the two.');
  }
  const { algorithm, key } = await requireSigning(vault, scope, name);
  return { key: createPublicKey(key), algorithm };
}
