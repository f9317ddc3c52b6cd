import { LangoError } from '../../../core/errors.js';

export interface ValueLimits {
  /** Arrays and objects inside each other. */
  readonly jsonDepth: number;
  /** Members of one object. */
  readonly jsonKeys: number;
}

/**
 * Holds a decoded message to what its JSON would be held to before it is parsed; gRPC can also say numbers that
 * JSON has no word for. Throws `invalid-input`. No recursion: it is asked about depths that nothing can walk.
 */
export function assertValueLimits(root: unknown, limits: ValueLimits): void {
  let level: unknown[] = [root];
  for (let depth = 0; level.length > 0; depth += 1) {
    const next: unknown[] = [];
    for (const value of level) {
      if (typeof value === 'number' && !Number.isFinite(value))
        throw refused('A number is one that JSON cannot hold.');
      if (typeof value !== 'object' || value === null) continue;
      if (depth >= limits.jsonDepth)
        throw refused(`The JSON is nested deeper than ${limits.jsonDepth} levels.`);
      const members = Object.values(value);
      if (!Array.isArray(value) && members.length > limits.jsonKeys)
        throw refused(`A JSON object has more than ${limits.jsonKeys} members.`);
      for (const member of members) next.push(member);
    }
    level = next;
  }
}

function refused(what: string): LangoError {
  return new LangoError('invalid-input', what);
}
