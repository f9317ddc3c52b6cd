import { isUtf8 } from 'node:buffer';
import { mkdir, open, readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { codeOf, errorText, LangoError } from '../core/errors.js';
import { isJsonObject } from '../core/json.js';
import { type Artifact, type Part, typeOfBytes } from '../core/message.js';
import { counted } from '../core/text.js';
import { usageError } from '../terminal/exit.js';
import { ask } from './explain.js';
import type { Connection } from './connection.js';
import { safeLine } from '../terminal/safe-text.js';
import type { Terminal } from '../terminal/terminal.js';

/** A file that goes along with a message. */
export type AttachedFile = Readonly<{ name: string; type: string; bytes: number; part: Part }>;

/** More than any server takes by default. The server says what it takes (`server.limits.bodyBytes`). */
const MAX_BYTES = 16 * 1024 * 1024;
/** Texts that agents know by a type of their own. Other texts are `text/plain`. */
const TEXT_TYPES: Readonly<Record<string, string>> = {
  '.md': 'text/markdown',
  '.html': 'text/html',
  '.htm': 'text/html',
  '.csv': 'text/csv',
  '.json': 'application/json',
};
const PLAIN = 'text/plain';
const BINARY = 'application/octet-stream';

/** Reads a file. Its contents decide its type. Rejects with a usage error that says what is wrong with the path. */
export async function attach(given: string): Promise<AttachedFile> {
  const file = path.resolve(given);
  const content = await read(file).catch((error: unknown) => {
    if (error instanceof LangoError) throw error;
    const reason = codeOf(error) === 'ENOENT' ? 'There is no such file' : errorText(error);
    throw usageError(`The file ${safeLine(given)} cannot be sent: ${reason}.`);
  });
  const filename = path.basename(file);
  const base64 = content.toString('base64');
  const isText = isUtf8(content) && !content.includes(0);
  const binary = typeOfBytes(base64);
  const mediaType = binary ?? (isText ? (TEXT_TYPES[path.extname(file).toLowerCase()] ?? PLAIN) : BINARY);
  const part: Part =
    binary === undefined && isText
      ? { kind: 'text', text: content.toString('utf8'), filename, mediaType }
      : { kind: 'file', bytes: base64, filename, mediaType };
  return { name: filename, type: mediaType, bytes: content.length, part };
}

async function read(file: string): Promise<Buffer> {
  const facts = await stat(file);
  if (!facts.isFile()) throw new LangoError('invalid-input', `${safeLine(file)} is not a file.`);
  if (facts.size > MAX_BYTES)
    throw new LangoError('too-large', `${safeLine(file)} is larger than ${MAX_BYTES / 1024 ** 2} MiB.`);
  if (facts.size === 0) throw new LangoError('invalid-input', `${safeLine(file)} is empty.`);
  return readFile(file);
}

/** The parts of files, as the agent's card takes them. Rejects with `content-type-not-supported` for another type. */
export async function partsFor(files: readonly AttachedFile[], connection: Connection, agent?: string) {
  if (files.length === 0) return [];
  const { defaultInputModes: modes } = await ask(connection, connection.client.card(agent), agent);
  if (!Array.isArray(modes) || modes.length === 0) return files.map(({ part }) => part);
  const taken = modes.filter((mode) => typeof mode === 'string');
  const takes = (type: string): boolean =>
    taken.some((mode) => mode === type || mode === '*/*' || mode === `${type.split('/')[0]}/*`);
  // A text is sent as text, which an agent that takes plain text reads.
  const wrong = files.find(({ type, part }) => !takes(type) && !(part.kind === 'text' && takes(PLAIN)));
  if (!wrong) return files.map(({ type, part }) => (takes(type) ? part : { ...part, mediaType: PLAIN }));
  const text = `The agent does not take ${safeLine(wrong.name)} (${wrong.type}).`;
  const hint = `It takes ${safeLine(taken.join(', '))}.`;
  throw new LangoError('content-type-not-supported', text, { hint });
}

/** "photo.png (image/png, 1,234 bytes)" */
export function describeFile({ name, type, bytes }: AttachedFile): string {
  return safeLine(`${name} (${type}, ${bytes.toLocaleString('en-US')} bytes)`);
}

/** The files of a paste that holds nothing but their absolute paths, as a terminal writes them when files are dropped on it. */
export async function filesDropped(paste: string): Promise<readonly string[]> {
  const words = paste.trim().match(/'[^']*'|"[^"]*"|(?:\\.|[^\s\\])+/g) ?? [];
  const paths = words.map(toPath).filter((one) => one !== undefined);
  const facts = await Promise.all(paths.map((one) => stat(one).catch(() => undefined)));
  return paths.length === words.length && facts.every((one) => one?.isFile()) ? paths : [];
}

/** The path that a person wrote, with or without quotes. */
export function toPath(word: string): string | undefined {
  const text = /^(['"]).*\1$/.test(word) ? word.slice(1, -1) : word.replace(/\\(.)/g, '$1');
  if (text.startsWith('file://')) return URL.canParse(text) ? fileURLToPath(text) : undefined;
  if (text.startsWith('~/')) return path.join(homedir(), text.slice(2));
  return path.isAbsolute(text) ? text : undefined;
}

/** Saves files and data of artifacts into a folder, replacing none. Returns lines: what was saved, and where the rest is. */
export async function saveArtifacts(artifacts: readonly Artifact[], folder: string) {
  const saved: string[] = [];
  const left: string[] = [];
  const contents = artifacts.flatMap((one) => one.parts.flatMap((part) => contentOf(part, one)));
  if (contents.length > 0) await mkdir(folder, { recursive: true });
  for (const { name, content } of contents) {
    if (content === undefined) left.push(safeLine(`Not fetched: the file at ${name}`));
    else saved.push(safeLine(`Saved: ${await writeNew(folder, cleanName(name), content)}`));
  }
  return [...saved, ...left];
}

/** Saves the files and data of a task, and tells the person where. */
export async function saveFilesOf(
  task: { readonly taskId: string; readonly agent: string | undefined },
  folder: string,
  { connection, terminal }: { readonly connection: Connection; readonly terminal: Pick<Terminal, 'note'> },
): Promise<void> {
  const { artifacts } = await ask(connection, connection.client.get(task), task.agent);
  (await saveArtifacts(artifacts, folder)).forEach(terminal.note);
}

/** `content`: undefined for a file that is elsewhere; `name` is then its address. */
type Content = Readonly<{ name: string; content: Buffer | undefined }>;

function contentOf(part: Part, { id, name }: Artifact): readonly Content[] {
  const called = part.filename ?? name ?? id;
  switch (part.kind) {
    case 'file': {
      if ('url' in part) return [{ name: part.url, content: undefined }];
      const extension = /\.\w{1,8}$/.test(called) ? '' : (EXTENSIONS[part.mediaType ?? ''] ?? '');
      return [{ name: `${called}${extension}`, content: Buffer.from(part.bytes, 'base64') }];
    }
    case 'data': {
      // Questions and replies in Lango's own format are not saved.
      if (isJsonObject(part.data) && ('question' in part.data || 'answer' in part.data)) return [];
      const content = Buffer.from(`${JSON.stringify(part.data, null, 2)}\n`);
      return [{ name: `${called.replace(/\.json$/i, '')}.json`, content }];
    }
    case 'text':
      // The text is on the screen already; a text with a name of a file is a file.
      if (part.filename === undefined && !/\.\w{1,8}$/.test(name ?? '')) return [];
      return [{ name: called, content: Buffer.from(part.text) }];
  }
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  'image/png': '.png',
  'image/jpeg': '.jpg',
  'image/gif': '.gif',
  'image/webp': '.webp',
  'application/pdf': '.pdf',
  'text/plain': '.txt',
  'text/markdown': '.md',
  'text/html': '.html',
};

const LONGEST_NAME = 100;
const RESERVED = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/** A name without folders, control characters, a dot at its start, or anything else that a file system refuses. */
function cleanName(name: string): string {
  const last = safeLine(name.split(/[/\\]/).at(-1) ?? '');
  const plain = last.replace(/[\p{Cc}\p{Cf}<>:"|?*␀-␡]/gu, '_').replace(/^[.\s]+|[.\s]+$/g, '');
  const { name: stem, ext } = path.parse(plain);
  const short = [...stem].slice(0, LONGEST_NAME).join('') + ext.slice(0, 10);
  return short === '' || RESERVED.test(short) ? `file_${short}` : short;
}

const MOST_COPIES = 1_000;

/** Writes a new file. A number follows the name when a file or a link has it already. */
async function writeNew(folder: string, name: string, content: Buffer): Promise<string> {
  const { name: stem, ext } = path.parse(name);
  for (let copy = 1; copy <= MOST_COPIES; copy += 1) {
    const file = path.join(folder, copy === 1 ? name : `${stem}-${copy}${ext}`);
    try {
      await using handle = await open(file, 'wx', 0o600);
      await handle.writeFile(content);
      return file;
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
  }
  const count = counted(MOST_COPIES, 'file');
  throw new LangoError('conflict', `${safeLine(folder)} holds ${count} named ${safeLine(name)}.`);
}
