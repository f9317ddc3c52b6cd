import { crc32 } from 'node:zlib';

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const UNIX = 3 << 8;
const PLAIN_FILE = 0o100644;

/** A .zip of these files, by their paths, not compressed. `mode` is that of every file. */
export function smallZip(files: Readonly<Record<string, Buffer | string>>, mode = PLAIN_FILE): Buffer {
  const locals: Buffer[] = [];
  const entries: Buffer[] = [];
  let offset = 0;
  for (const [name, content] of Object.entries(files)) {
    const bytes = Buffer.from(content);
    const path = Buffer.from(name);
    const sizes = [crc32(bytes), bytes.length, bytes.length];
    const local = [...u32(LOCAL), ...u16(10, 0, 0, 0, 0), ...u32(...sizes), ...u16(path.length, 0)];
    const entry = [
      ...[...u32(CENTRAL), ...u16(UNIX, 10, 0, 0, 0, 0), ...u32(...sizes)],
      ...[...u16(path.length, 0, 0, 0, 0), ...u32((mode << 16) >>> 0, offset)],
    ];
    locals.push(Buffer.from(local), path, bytes);
    entries.push(Buffer.from(entry), path);
    offset += local.length + path.length + bytes.length;
  }
  const directory = Buffer.concat(entries);
  const count = entries.length / 2;
  const end = [...u32(END), ...u16(0, 0, count, count), ...u32(directory.length, offset), ...u16(0)];
  return Buffer.concat([...locals, directory, Buffer.from(end)]);
}

function u16(...values: readonly number[]): readonly number[] {
  return values.flatMap((value) => [value & 255, (value >>> 8) & 255]);
}

function u32(...values: readonly number[]): readonly number[] {
  return values.flatMap((value) => u16(value & 0xffff, value >>> 16));
}
