import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { codeOf, errorText, isLangoError, LangoError } from '../../core/errors.js';
import { checkedPath, EXECUTABLE, SKILL_MAX_BYTES, SkillSize, type SkillFile } from './files.js';
import { SKILL_FILE } from './skill-file.js';

const ZIP_MARK = Buffer.from('PK\u0003\u0004');
const GZIP_MARK = Buffer.from([0x1f, 0x8b]);
/** Includes the headers and the padding of the files. */
const TAR_MAX_BYTES = SKILL_MAX_BYTES + 4 * 1024 * 1024;
const UNIX_MODE_SHIFT = 16;
const FILE_TYPE = 0o170000;
const SYMLINK = 0o120000;

/**
 * Reads the files of a .zip, .skill or .tar.gz archive in memory. The skill may be in a single top folder. Rejects with
 * `invalid-input` for a damaged archive, and for one that contains a link or a path outside of it; with `too-large` by
 * the extracted size, not by the declared one.
 */
export async function parse(bytes: Buffer): Promise<readonly SkillFile[]> {
  try {
    const files = bytes.subarray(0, ZIP_MARK.length).equals(ZIP_MARK)
      ? await readZip(bytes)
      : await readTar(bytes);
    return withoutTopFolder(files);
  } catch (error) {
    if (isLangoError(error)) throw error;
    throw new LangoError('invalid-input', `The archive cannot be read: ${errorText(error)}`, {
      hint: 'Give a folder, a .zip or .skill file, or a .tar.gz.',
      cause: error,
    });
  }
}

/** Decompresses in one step within a limit, because the tar parser continues to read after an entry was refused. */
function decompressed(bytes: Buffer): Buffer {
  if (!isGzip(bytes)) return bytes;
  try {
    const tar = gunzipSync(bytes, { maxOutputLength: TAR_MAX_BYTES });
    if (!isGzip(tar)) return tar;
  } catch (error) {
    if (codeOf(error) !== 'ERR_BUFFER_TOO_LARGE') throw error;
    throw new LangoError('too-large', `The archive unpacks to more than ${TAR_MAX_BYTES} bytes.`, {
      hint: 'Divide the skill, or leave out what it does not need.',
    });
  }
  throw new LangoError('invalid-input', 'The archive is compressed twice.');
}

function isGzip(bytes: Buffer): boolean {
  return bytes.subarray(0, GZIP_MARK.length).equals(GZIP_MARK);
}

async function readTar(bytes: Buffer): Promise<readonly SkillFile[]> {
  const { Parser } = await import('tar');
  const size = new SkillSize();
  const files: SkillFile[] = [];
  await new Promise<void>((resolve, reject) => {
    const parser = new Parser({
      strict: true,
      onReadEntry(entry) {
        const path = entry.path.replace(/^\.\//, '');
        const { type, mode = 0 } = entry;
        try {
          if (type === 'Directory') {
            size.add(path, 0);
            return void entry.resume();
          }
          if (type !== 'File' && type !== 'OldFile') throw linkIn(path);
          size.add(checkedPath(path), entry.size);
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
          return void entry.resume();
        }
        const chunks: Buffer[] = [];
        entry.on('data', (chunk: Buffer) => void chunks.push(Buffer.from(chunk)));
        entry.on('end', () => void files.push(toFile(path, Buffer.concat(chunks), mode)));
      },
    });
    parser.on('end', () => resolve());
    parser.on('error', reject);
    parser.end(decompressed(bytes));
  });
  return files;
}

async function readZip(bytes: Buffer): Promise<readonly SkillFile[]> {
  const yauzl = await import('yauzl');
  const size = new SkillSize();
  const files: SkillFile[] = [];
  const archive = await yauzl.fromBufferPromise(bytes, { validateEntrySizes: true });
  for await (const entry of archive.eachEntry()) {
    const path = entry.fileName;
    if (path.endsWith('/')) {
      size.add(path, 0);
      continue;
    }
    const mode = entry.externalFileAttributes >>> UNIX_MODE_SHIFT;
    if ((mode & FILE_TYPE) === SYMLINK) throw linkIn(path);
    size.add(checkedPath(path), entry.uncompressedSize);
    files.push(toFile(path, await buffer(await archive.openReadStreamPromise(entry)), mode));
  }
  return files;
}

function toFile(path: string, content: Buffer, mode: number): SkillFile {
  return { path, content, isExecutable: (mode & EXECUTABLE) !== 0 };
}

/** Removes a single top folder, because most archives are made from a folder. */
function withoutTopFolder(files: readonly SkillFile[]): readonly SkillFile[] {
  if (files.some(({ path }) => path === SKILL_FILE)) return files;
  const tops = new Set(files.map(({ path }) => path.split('/')[0]));
  const [top] = tops;
  if (tops.size !== 1 || !files.some(({ path }) => path === `${top}/${SKILL_FILE}`)) return files;
  return files.map((file) => ({ ...file, path: file.path.slice(top!.length + 1) }));
}

function linkIn(path: string): LangoError {
  return new LangoError('invalid-input', `The archive contains ${path}, which is not a plain file.`, {
    hint: 'A skill consists of plain files and folders.',
  });
}
