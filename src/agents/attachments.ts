import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { BoundedCache } from '../core/bounded-cache.js';
import { LangoError, errorText } from '../core/errors.js';
import { defined } from '../core/json.js';
import { IMAGE_TYPES, textPart, typeOfBytes, type Part } from '../core/message.js';
import type { ModelMessage } from '../core/model.js';
import type { Run } from '../core/run.js';
import type { Scope } from '../core/task.js';
import { cutText } from '../core/text.js';
import { scrubData } from '../scrub/data.js';

/** Reads the text of a document (PDF, HTML or text), by its name and contents. Rejects with the reason when it has none. */
type ReadDocument = (
  document: { readonly name: string; readonly content: Buffer },
  call: { readonly scope: Scope; readonly signal: AbortSignal },
) => Promise<string>;

type FilePart = Extract<Part, { readonly kind: 'file'; readonly bytes: string }>;

/** The media types that agents read as text. Files of other types count as text when they hold UTF-8. */
const TEXT_TYPES = [
  ...['text/plain', 'text/markdown', 'text/html', 'text/csv'],
  ...['application/json', 'application/pdf'],
];

/** The input modes of an agent, by whether its model reads images. */
export function inputModes(readsImages = true): readonly string[] {
  return readsImages ? [...TEXT_TYPES, ...IMAGE_TYPES] : TEXT_TYPES;
}

const MAX_CACHED_TEXTS = 64;
const MAX_CACHED_CHARACTERS = 128 * 1024;
const CUT_ADVICE = 'the file holds more: ask the user for the part that matters';

/** Makes the files of messages readable for a model: documents become their text, images stay for a model that reads them. */
export class Attachments {
  readonly #read: ReadDocument | undefined;
  /** The newest texts, by the hash of their files. Each run of a conversation reads the files of earlier messages again. */
  readonly #texts = new BoundedCache<string, string>(MAX_CACHED_TEXTS);

  constructor(read: ReadDocument | undefined) {
    this.#read = read;
  }

  /** Returns the messages with at most `limitBytes` of text of each file. Never rejects for a file that cannot be read. */
  async readable(
    messages: readonly ModelMessage[],
    { run, readsImages = true, limitBytes }: ReadableOptions,
  ): Promise<readonly ModelMessage[]> {
    const show = async (part: Part): Promise<Part> => {
      if (part.kind === 'text' && part.filename !== undefined)
        return { ...part, text: cutText(part.text, limitBytes, CUT_ADVICE).text };
      if (!isFile(part)) return part;
      const type = typeOfBytes(part.bytes);
      if (type?.startsWith('image/')) {
        if (readsImages) return { ...part, mediaType: type };
        return problemNote(part, 'it is an image, and this model reads none');
      }
      const { text, problem } = await this.#textOf(part, run);
      if (text === undefined) return problemNote(part, problem);
      const shown = cutText(scrubData(text, run.scrubber), limitBytes, CUT_ADVICE).text;
      const { filename = 'file', mediaType } = part;
      // The file name tells the text apart from what the user wrote.
      return { kind: 'text', text: shown, filename, ...defined({ mediaType }) };
    };
    return Promise.all(
      messages.map(async (message) => {
        if (message.role !== 'user' || !message.parts.some(isAttached)) return message;
        return { ...message, parts: await Promise.all(message.parts.map(show)) };
      }),
    );
  }

  /** Replaces files that these input modes exclude by their text. Texts become one: some agents (VoltAgent) read only the first. */
  async fit(parts: readonly Part[], modes: readonly string[], run: Run): Promise<readonly Part[]> {
    const fitting = await Promise.all(
      parts.map(async (part): Promise<Part> => {
        const type = part.kind === 'file' ? (part.mediaType ?? 'application/octet-stream') : '';
        const isTaken = type === '' || modes.some((mode) => mode === type || covers(mode, type));
        if (isTaken || !isFile(part)) return part;
        const { text, problem } = await this.#textOf(part, run);
        if (text === undefined) return textPart(`[The file ${nameOf(part)} was not sent: ${problem}.]`);
        return textPart(`The file ${nameOf(part)}:\n${text}`);
      }),
    );
    const texts = fitting.flatMap((part) => (part.kind === 'text' && !isAttached(part) ? [part.text] : []));
    const others = fitting.filter((part) => part.kind !== 'text' || isAttached(part));
    return texts.length === 0 ? others : [textPart(texts.join('\n\n')), ...others];
  }

  async #textOf(part: FilePart, run: Run): Promise<FileText> {
    const content = Buffer.from(part.bytes, 'base64');
    const type = typeOfBytes(part.bytes) ?? part.mediaType;
    const isDocument = type === 'application/pdf' || type === 'text/html';
    if (type?.startsWith('image/')) return { problem: 'it is an image' };
    if (!isDocument) {
      if (isUtf8(content) && !content.includes(0)) return { text: content.toString('utf8') };
      return { problem: `it holds ${content.length} bytes that are not text` };
    }
    if (!this.#read) return { problem: 'this server has no reader for its type' };
    const hash = createHash('sha256').update(type).update(content).digest('base64');
    const known = this.#texts.get(hash);
    if (known !== undefined) return { text: known };
    try {
      const { tenant, owner } = run.task;
      const name = type === 'text/html' ? 'file.html' : 'file.pdf';
      const text = await this.#read({ name, content }, { scope: { tenant, owner }, signal: run.signal });
      if (text.length <= MAX_CACHED_CHARACTERS) this.#texts.set(hash, text);
      return { text };
    } catch (error) {
      run.signal.throwIfAborted();
      return { problem: `it could not be read: ${errorText(error)}` };
    }
  }
}

interface ReadableOptions {
  readonly run: Run;
  readonly readsImages?: boolean | undefined;
  readonly limitBytes: number;
}

type FileText = Readonly<{ text: string; problem?: undefined } | { text?: undefined; problem: string }>;

export function isFile(part: Part): part is FilePart {
  return part.kind === 'file' && 'bytes' in part;
}

/** Whether a part holds a file: its bytes, or a text with a file name. */
export function isAttached(part: Part): boolean {
  return isFile(part) || (part.kind === 'text' && part.filename !== undefined);
}

/** Finds the newest file of that name in the messages of a task. Throws `not-found` with the names that there are. */
export function attachedFile({ inputs }: Run, name: string): Buffer {
  const files = inputs.flatMap(({ message }) => message.parts).filter(isAttached);
  const nameOfFile = (part: Part): string => (part.kind === 'data' ? '' : (part.filename ?? 'file'));
  const found = files.findLast((part) => nameOfFile(part) === name);
  if (found?.kind === 'text') return Buffer.from(found.text);
  if (found && isFile(found)) return Buffer.from(found.bytes, 'base64');
  const names = files.map(nameOfFile).join(', ') || 'none';
  const text = `attachment: the user sent no file "${name}" with this task; there are: ${names}.`;
  throw new LangoError('not-found', text);
}

function covers(mode: string, type: string): boolean {
  return mode === '*/*' || (mode.endsWith('/*') && type.startsWith(mode.slice(0, -1)));
}

function nameOf({ filename, mediaType }: FilePart): string {
  return JSON.stringify(filename ?? mediaType ?? 'without a name');
}

/** Replaces a file that the model does not get, and says why. */
function problemNote(part: FilePart, problem: string): Part {
  return { kind: 'data', data: { file: part.filename ?? part.mediaType ?? 'without a name', problem } };
}
