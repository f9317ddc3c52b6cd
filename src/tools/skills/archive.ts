import type { Entry, ZipFile } from 'yauzl';
import { errorText, isLangoError, LangoError } from '../../core/errors.js';
import { checkedPath, EXECUTABLE, SkillSize, type SkillFile } from './files.js';
import { SKILL_FILE } from './skill-file.js';

const ZIP_MARK = Buffer.from('PK\u0003\u0004');
const UNIX_MODE_SHIFT = 16;
const FILE_TYPE = 0o170000;
const SYMLINK = 0o120000;

/**
 * Reads the files of a .zip, .skill or .tar.gz archive in memory. The skill may be in a single top folder. Rejects with
 * `invalid-input` for a damaged archive, and for one that contains a link or a path outside of it; with `too-large` by
 * the extracted size, not by the declared one.
 */
export async function readArchive(bytes: Buffer): Promise<readonly SkillFile[]> {
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

async function readTar(bytes: Buffer): Promise<readonly SkillFile[]> {
  const { Parser } = await import('tar');
  const size = new SkillSize();
  const files: SkillFile[] = [];
  await new Promise<void>((resolve, reject) => {
    const parser = new Parser({
      strict: true,
      onReadEntry(entry) {
        const path = entry.path.replace(/^\.\//, '');
        if (entry.type === 'Directory') return void entry.resume();
        try {
          if (entry.type !== 'File' && entry.type !== 'OldFile') throw linkIn(path);
          size.add(checkedPath(path), entry.size);
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
          return void entry.resume();
        }
        const chunks: Buffer[] = [];
        entry.on('data', (chunk: Buffer) => void chunks.push(Buffer.from(chunk)));
        entry.on('end', () => {
          files.push({
            path,
            content: Buffer.concat(chunks),
            isExecutable: ((entry.mode ?? 0) & EXECUTABLE) !== 0,
          });
        });
      },
    });
    parser.on('end', () => resolve());
    parser.on('error', reject);
    parser.end(bytes);
  });
  return files;
}

async function readZip(bytes: Buffer): Promise<readonly SkillFile[]> {
  const yauzl = await import('yauzl');
  const size = new SkillSize();
  const files: SkillFile[] = [];
  const archive = await new Promise<ZipFile>((resolve, reject) =>
    yauzl.fromBuffer(bytes, { lazyEntries: true, validateEntrySizes: true }, (error, file) =>
      error ? reject(error) : resolve(file),
    ),
  );
  await new Promise<void>((resolve, reject) => {
    archive.on('error', reject);
    archive.on('end', resolve);
    archive.on('entry', (entry: Entry) => {
      takeEntry(archive, entry, size)
        .then((file) => {
          if (file) files.push(file);
          archive.readEntry();
        })
        .catch(reject);
    });
    archive.readEntry();
  });
  return files;
}

async function takeEntry(archive: ZipFile, entry: Entry, size: SkillSize): Promise<SkillFile | undefined> {
  const path = entry.fileName;
  if (path.endsWith('/')) return undefined;
  const mode = entry.externalFileAttributes >>> UNIX_MODE_SHIFT;
  if ((mode & FILE_TYPE) === SYMLINK) throw linkIn(path);
  size.add(checkedPath(path), entry.uncompressedSize);
  const stream = await new Promise<NodeJS.ReadableStream>((resolve, reject) =>
    archive.openReadStream(entry, (error, opened) => (error ? reject(error) : resolve(opened))),
  );
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return { path, content: Buffer.concat(chunks), isExecutable: (mode & EXECUTABLE) !== 0 };
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
