import type { Caller, Credentials } from '../core/identity.js';

/** Knows callers by one kind of credential. Throws, or rejects with, a `LangoError` that holds the challenge. */
export type Verifier = (credentials: Credentials) => Caller | Promise<Caller>;

/** The longest name of an owner or a tenant, in characters. */
export const MAX_NAME_LENGTH = 256;
