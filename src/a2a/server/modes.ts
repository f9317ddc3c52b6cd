import { LangoError } from '../../core/errors.js';
import { typeOfBytes, type Part } from '../../core/message.js';

const TEXT = 'text/plain';
export const JSON_TYPE = 'application/json';
/** The types of parts that name none. */
const IMPLIED_TYPES = { text: TEXT, data: JSON_TYPE, file: 'application/octet-stream' };

/** Throws `content-type-not-supported` for a part whose media type is none of the card's input modes. */
export function assertInputModes(parts: readonly Part[], modes: readonly string[]): void {
  for (const part of parts) {
    assertTrueType(part);
    const type = part.mediaType === undefined ? IMPLIED_TYPES[part.kind] : bareType(part.mediaType);
    if (modes.includes(type)) continue;
    // A file without a media type may have any type of files that the agent takes.
    const takesFiles = modes.some((mode) => ![TEXT, JSON_TYPE].includes(bareType(mode)));
    if (part.kind === 'file' && part.mediaType === undefined && takesFiles) continue;
    if (!modes.some((mode) => covers(bareType(mode), type)))
      throw new LangoError('content-type-not-supported', `This agent does not take ${type}.`, {
        hint: `It takes ${modes.join(', ')}.`,
      });
  }
}

/** The types whose files begin in a way of their own. */
const CHECKED = /^(image\/(png|jpeg|gif|webp)|application\/pdf)$/;

function assertTrueType(part: Part): void {
  if (part.kind !== 'file' || !('bytes' in part) || part.mediaType === undefined) return;
  const type = bareType(part.mediaType);
  if (!CHECKED.test(type) || typeOfBytes(part.bytes) === type) return;
  const name = part.filename === undefined ? 'a file' : `the file ${JSON.stringify(part.filename)}`;
  const text = `${name} is sent as ${type}, but holds something else.`;
  throw new LangoError('content-type-not-supported', text, { hint: 'Send it with its true media type.' });
}

/** Throws `content-type-not-supported` when the agent gives none of the accepted modes. An empty list accepts all. */
export function assertOutputModes(accepted: readonly string[], modes: readonly string[]): void {
  if (accepted.length === 0) return;
  if (accepted.some((want) => modes.some((mode) => covers(bareType(want), bareType(mode))))) return;
  throw new LangoError('content-type-not-supported', 'This agent gives none of the accepted output modes.', {
    hint: `It gives ${modes.join(', ')}.`,
  });
}

/** Removes parameters. `text`, which many cards and clients write, means `text/plain`. */
function bareType(type: string): string {
  const bare = (type.split(';')[0] ?? '').trim().toLowerCase();
  return bare === 'text' ? TEXT : bare;
}

function covers(range: string, type: string): boolean {
  if (range === '*/*' || range === type) return true;
  // A type with this suffix is JSON (RFC 6839). AG2 sends what was said before as such a type.
  if (range === JSON_TYPE && type.endsWith('+json')) return true;
  return range.endsWith('/*') && type.startsWith(range.slice(0, -1));
}
