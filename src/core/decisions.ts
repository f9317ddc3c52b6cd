import { hashJson } from './canonical-json.js';
import type { Reply } from './task.js';

/** The short code of a question, as a person types it: four characters without those that look alike. */
export function codeOf(hash: string): string {
  const bits = Number.parseInt(hashJson(hash).slice(0, 5), 16);
  return [15, 10, 5, 0].map((shift) => CODE_CHARACTERS[(bits >> shift) & 31]).join('');
}

const CODE_CHARACTERS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
export const DECISION = /^(?:(approve|deny) ([0-9a-z]{4})|(no|deny))[.!]?$/i;

/** Returns the decision of a text about an approval: `approve` or `deny` with the code of its hash, or a plain "no". */
export function decisionIn(text: string, hash: string): Reply['decision'] | undefined {
  const [, decision, code, no] = DECISION.exec(text.trim()) ?? [];
  if (no) return 'deny';
  if (code?.toUpperCase() !== codeOf(hash)) return undefined;
  return decision?.toLowerCase() === 'approve' ? 'approve' : 'deny';
}
