import type { LangoError } from '../core/errors.js';
import type { ToolFamily } from '../core/tool.js';

/** A family that is switched off by `key`. */
export function off(name: string, key = `tools.${name}.enabled`): ToolFamily {
  return { name, state: 'off', tools: [], note: 'switched off', hint: `Set ${key}.` };
}

/** A family that is wanted and cannot work here, and why. */
export function missing(name: string, { message, hint }: Pick<LangoError, 'message' | 'hint'>): ToolFamily {
  return { name, state: 'missing', tools: [], note: message, ...(hint ? { hint } : {}) };
}
