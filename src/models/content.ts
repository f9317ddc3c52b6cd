import type { Part } from '../core/message.js';

/** What a model can be shown. */
export type Content =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly mediaType: ImageType; readonly bytes: string };

const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const;
type ImageType = (typeof IMAGE_TYPES)[number];

/** Images as they are, text and data as text, other files described in words. Nothing blank. */
export function toContent(parts: readonly Part[]): readonly Content[] {
  return parts.map(contentOf).filter((content) => content.type === 'image' || content.text.trim() !== '');
}

function contentOf(part: Part): Content {
  if (part.kind === 'text') return { type: 'text', text: part.text };
  if (part.kind === 'data') return { type: 'text', text: JSON.stringify(part.data) };
  const name = part.filename ? ` "${part.filename}"` : '';
  const type = part.mediaType ?? 'unknown type';
  if ('url' in part) return { type: 'text', text: `[file${name} (${type}) at ${part.url}]` };
  const mediaType = IMAGE_TYPES.find((known) => known === type.replace('image/jpg', 'image/jpeg'));
  if (mediaType) return { type: 'image', mediaType, bytes: part.bytes };
  const size = Buffer.byteLength(part.bytes, 'base64');
  return { type: 'text', text: `[file${name} (${type}, ${size} bytes), contents not shown]` };
}
