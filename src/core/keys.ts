interface PublicJwk {
  readonly kty: 'OKP';
  readonly crv: 'Ed25519';
  readonly x: string;
  readonly kid: string;
  readonly alg: string;
  readonly use: 'sig';
}

/** One of the node's own key pairs; Ed25519, so that equal content has equal signatures. */
export interface SigningKey {
  /** The thumbprint of its public half (RFC 7638). */
  readonly kid: string;
  readonly publicJwk: PublicJwk;
  /** The signature of the text's bytes, in base64url. */
  sign(bytes: string): string;
}

/** What a node signs with, and what others may check with. */
export interface KeySet {
  readonly current: SigningKey;
  /** The current one first, then those that were rotated out a while ago. */
  readonly published: readonly SigningKey[];
}

/** The keys there are now: they may be rotated under a running server. */
export type ReadKeys = () => Promise<KeySet>;
