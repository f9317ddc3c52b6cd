import type { Part } from '../../core/message.js';
import type { ToolOutput } from '../../core/tool.js';
import type { CallToolResult } from './connection.js';

/** The largest file that is kept: with base64 it still fits into one event of the journal. */
const LARGEST_FILE_BYTES = 180_000;
const MOST_FILES = 8;
const LONGEST_URI = 500;

type Block = CallToolResult['content'][number];

/** The answer of a server: text for the model; images, sounds and other files become artifacts of the task. */
export function outputOf({ content, structuredContent, isError }: CallToolResult): ToolOutput {
  const files: Part[] = [];
  const texts = content.map((block) => textOf(block, files));
  // A server sends its structured answer as text too.
  const hasText = texts.some((text) => text !== '');
  if (!hasText && structuredContent !== undefined) texts.push(JSON.stringify(structuredContent));
  return {
    content: texts.filter((text) => text !== '').join('\n') || 'The server answered without content.',
    isError: isError === true,
    ...(files.length === 0 ? {} : { files }),
  };
}

/** The text of a block for the model. A file in it is added to `files`. */
function textOf(block: Block, files: Part[]): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'image':
    case 'audio':
      return keep({ bytes: block.data, mediaType: block.mimeType, name: block.type }, files);
    case 'resource_link':
      return `[a link to ${named(block.uri)}, which was not fetched]`;
    case 'resource': {
      const { uri, mimeType } = block.resource;
      if ('text' in block.resource) return `[${named(uri)}]\n${block.resource.text}`;
      return keep({ bytes: block.resource.blob, mediaType: mimeType, name: named(uri) }, files);
    }
  }
}

interface File {
  /** Base64. */
  readonly bytes: string;
  readonly mediaType: string | undefined;
  readonly name: string;
}

function keep({ bytes, mediaType, name }: File, files: Part[]): string {
  const size = Buffer.byteLength(bytes, 'base64');
  const about = `${name}, ${mediaType ?? 'of unknown type'}, ${size} bytes`;
  if (files.length >= MOST_FILES) return `[left out, as an answer may hold ${MOST_FILES} files: ${about}]`;
  if (size > LARGEST_FILE_BYTES)
    return `[left out, as it is larger than ${LARGEST_FILE_BYTES} bytes: ${about}]`;
  const filename = name.split('/').at(-1) || 'file';
  files.push({ kind: 'file', bytes, filename, ...(mediaType === undefined ? {} : { mediaType }) });
  return `[kept as a file of the task: ${about}]`;
}

function named(uri: string): string {
  return uri.slice(0, LONGEST_URI);
}
