import type { Json } from '../../core/json.js';
import { dataBeside } from '../../core/data-text.js';
import type { Part } from '../../core/message.js';
import type { ToolOutput } from '../../core/tool.js';
import type { CallToolResult } from './connection.js';

/** Maximum size of a file, so that its base64 text fits into one event of the journal. */
const FILE_MAX_BYTES = 180_000;
const FILES_MAX = 8;
const URI_MAX_LENGTH = 500;

type Block = CallToolResult['content'][number];

/** Converts the result of a call: text and data go to the model; images, sounds and other files become artifacts of the task. */
export function outputOf({ content, structuredContent, isError }: CallToolResult): ToolOutput {
  const files: Part[] = [];
  const texts = content.map((block) => textOf(block, files)).filter((text) => text !== '');
  const data = structuredContent === undefined ? [] : dataBeside(texts, structuredContent as Json);
  return {
    content: [...texts, ...data].join('\n') || 'The server responded without content.',
    isError: isError === true,
    ...(files.length === 0 ? {} : { files }),
  };
}

/** Returns the text of a block for the model. Adds its file to `files`. */
function textOf(block: Block, files: Part[]): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'image':
    case 'audio':
      return addFile({ bytes: block.data, mediaType: block.mimeType, name: block.type }, files);
    case 'resource_link':
      return `[a link to ${shortUri(block.uri)}, which was not fetched]`;
    case 'resource': {
      const { uri, mimeType } = block.resource;
      if ('text' in block.resource) return `[${shortUri(uri)}]\n${block.resource.text}`;
      return addFile({ bytes: block.resource.blob, mediaType: mimeType, name: shortUri(uri) }, files);
    }
  }
}

interface File {
  /** Base64. */
  readonly bytes: string;
  readonly mediaType: string | undefined;
  readonly name: string;
}

function addFile({ bytes, mediaType, name }: File, files: Part[]): string {
  const size = Buffer.byteLength(bytes, 'base64');
  const about = `${name}, ${mediaType ?? 'of unknown type'}, ${size} bytes`;
  if (files.length >= FILES_MAX) return `[left out, as a result may hold ${FILES_MAX} files: ${about}]`;
  if (size > FILE_MAX_BYTES) return `[left out, as it is larger than ${FILE_MAX_BYTES} bytes: ${about}]`;
  const filename = name.split('/').at(-1) || 'file';
  files.push({ kind: 'file', bytes, filename, ...(mediaType === undefined ? {} : { mediaType }) });
  return `[kept as a file of the task: ${about}]`;
}

const shortUri = (uri: string): string => uri.slice(0, URI_MAX_LENGTH);
