import { LangoError } from '../core/errors.js';
import { parseJson } from '../core/json.js';

/** A position in a sorted list: the values of the columns that the list is sorted by. */
type Position = readonly (string | number)[];

/** Encodes a position as an opaque text. It stays valid when the item at the position is removed. */
export function toPositionText(position: Position): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

/** Decodes a text of `toPositionText`; an empty text is `start`. Throws `invalid-input`, which names `field`, for any other. */
export function parsePosition<Values extends Position>(text: string, start: Values, field = 'after'): Values {
  if (text === '') return start;
  const position = parseJson(Buffer.from(text, 'base64url').toString());
  const isLike =
    Array.isArray(position) &&
    position.length === start.length &&
    position.every((value, index) => typeof value === typeof start[index]) &&
    toPositionText(position) === text;
  if (isLike) return position as unknown as Values;
  throw new LangoError('invalid-input', `The value of "${field}" is not a position in this list.`, {
    hint: `Request the first page again, without "${field}".`,
    violations: [{ field, description: 'It must come from an earlier response of this server.' }],
  });
}
