/** Enough bytes to distinguish text from binary data. */
export const SAMPLE_BYTES = 8192;

const SIGNATURES: readonly (readonly [string, string])[] = [
  ['89504e470d0a1a0a', 'a PNG image'],
  ['ffd8ff', 'a JPEG image'],
  ['47494638', 'a GIF image'],
  ['52494646', 'a RIFF file (WebP, WAV or AVI)'],
  ['25504446', 'a PDF document'],
  ['504b0304', 'a ZIP archive (or an office document, or a jar)'],
  ['1f8b', 'gzip data'],
  ['425a68', 'bzip2 data'],
  ['fd377a585a00', 'xz data'],
  ['28b52ffd', 'zstd data'],
  ['377abcaf271c', 'a 7z archive'],
  ['7f454c46', 'an ELF program or library'],
  ['4d5a', 'a Windows program'],
  ['cafebabe', 'a Java class or a macOS program'],
  ['0061736d', 'a WebAssembly module'],
  ['53514c69746520666f726d6174203300', 'a SQLite database'],
  ['4f676753', 'Ogg media'],
  ['494433', 'MP3 audio'],
  ['1a45dfa3', 'Matroska or WebM video'],
  ['fffe', 'UTF-16 text'],
  ['feff', 'UTF-16 text'],
];

/** The probable type of a binary file, by its first bytes; undefined for text. */
export function binaryKind(sample: Buffer): string | undefined {
  const start = sample.toString('hex', 0, 16);
  const isMedia = sample.toString('latin1', 4, 8) === 'ftyp';
  const known = isMedia ? 'MP4 media' : SIGNATURES.find(([bytes]) => start.startsWith(bytes))?.[1];
  if (sample.includes(0)) return known ?? 'of unknown type';
  return known !== undefined && !isPlainText(sample) ? known : undefined;
}

/** Some signatures are also the start of valid text. */
function isPlainText(sample: Buffer): boolean {
  return sample.every((byte) => byte < 0x80 && (byte >= 0x20 || [9, 10, 12, 13].includes(byte)));
}
