/**
 * Signatures that are taken from others, by their names in a JWS (RFC 7518, RFC 8037, RFC 9864). Asymmetric ones
 * only: with "none" or a shared secret anybody could have signed.
 */
export const SIGNATURE_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const;
