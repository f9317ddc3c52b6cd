import { isJsonObject, isKeepable, type JsonObject } from '../core/json.js';
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
