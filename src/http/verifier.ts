import type { Caller, Credentials } from '../core/identity.js';

/** Knows callers by one kind of credential. Throws, or rejects with, a `LangoError` that holds the challenge. */
export type Verifier = (credentials: Credentials) => Caller | Promise<Caller>;
