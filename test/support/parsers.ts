import { Parsers } from '../../src/parsing/parsers.js';

/** Parsers with the default limits, for families that a test makes by itself. */
export const PARSERS = new Parsers({ timeoutSeconds: 20, maxMemoryBytes: 512 * 1024 * 1024, processes: 2 });
