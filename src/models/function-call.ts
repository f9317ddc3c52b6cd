import { isJsonObject, type JsonObject } from '../core/json.js';
import type { FunctionCall } from '../core/model.js';

const LONGEST_INVALID_CHARACTERS = 2_000;

/** The call a model wrote. Arguments it left out altogether are an empty object; never throws. */
export function toFunctionCall(written: { id: string; name: string; argumentsText: string }): FunctionCall {
  const { id, name, argumentsText } = written;
  const args = argumentsText.trim() === '' ? {} : parseObject(argumentsText);
  return {
    type: 'function-call',
    id,
    name,
    arguments: args,
    ...(args === undefined ? { invalid: argumentsText.slice(0, LONGEST_INVALID_CHARACTERS) } : {}),
  };
}

/** The JSON object in `text`; undefined when it is none, only the beginning of one, or one that cannot be kept. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) && isKeepable(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** What stands for a call's arguments when it is sent back: vendors take objects only. */
export function argumentsToSend(call: FunctionCall): JsonObject {
  return call.arguments ?? { INVALID_JSON: call.invalid ?? '' };
}

/** Arrays and objects inside each other. Far more than any tool takes, far less than what no code can walk. */
const DEEPEST = 64;

/**
 * Whether what `JSON.parse` gave can be kept, hashed and written again: it accepts depths that other code cannot
 * walk, and makes an infinite number of "1e400".
 */
function isKeepable(value: unknown, depth = DEEPEST): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((member) => isKeepable(member, depth - 1));
}
