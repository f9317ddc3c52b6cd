import { isUtf8 } from 'node:buffer';
import { errorText, loadPackage } from '../core/errors.js';
import { binaryKind, SAMPLE_BYTES } from '../disk/file-kind.js';
import { cutIntoPassages, type Passage } from './passages.js';

export type Reading =
  | { readonly passages: readonly Passage[]; readonly problem?: undefined }
  /** Why the document is not stored, as a part of a sentence. */
  | { readonly problem: string };

const MARKDOWN = /\.(md|mdx|markdown)$/i;
const HTML = /\.(html?|xhtml)$/i;
const PDF = /\.pdf$/i;
const BYTE_ORDER_MARK = '\uFEFF';

export type NamedFile = Readonly<{ name: string; content: Buffer }>;

/** Loads what a file of this name is read with. Rejects like `loadPdf`. */
export async function loadReader(name: string): Promise<void> {
  if (PDF.test(name)) await loadPdf();
  else if (HTML.test(name)) await import('./html.js');
}

export async function readDocument({ name, content }: NamedFile): Promise<Reading> {
  if (content.length === 0) return { problem: 'it is empty' };
  if (PDF.test(name)) return readPdf(content);
  const kind = binaryKind(content.subarray(0, SAMPLE_BYTES));
  if (kind !== undefined) return { problem: `it is ${kind}` };
  if (!isUtf8(content)) return { problem: 'it is not UTF-8 text' };
  const text = content.toString('utf8').replace(BYTE_ORDER_MARK, ' ');
  if (HTML.test(name)) return readHtml(text);
  const syntax = MARKDOWN.test(name) ? 'markdown' : 'plain';
  return withText(cutIntoPassages(text, { syntax, hasLines: true }));
}

/** The whole text of a PDF or an HTML file. Rejects with the reason when it has none. */
export async function readText({ name, content }: NamedFile): Promise<string> {
  let text: string;
  if (PDF.test(name)) {
    const pages = await pagesOf(content, await loadPdf());
    text = pages.map((page, index) => `[page ${index + 1}]\n${page}`).join('\n\n');
  } else text = (await import('./html.js')).toMarkdown(content.toString('utf8'));
  if (text.replace(/\[page \d+\]/g, '').trim() === '') throw new Error('it contains no text');
  return text;
}

async function readHtml(text: string): Promise<Reading> {
  const { toMarkdown } = await import('./html.js');
  try {
    return withText(cutIntoPassages(toMarkdown(text), { syntax: 'markdown', hasLines: false }));
  } catch (error) {
    return { problem: `its HTML cannot be read: ${errorText(error)}` };
  }
}

/** Reads a PDF page by page, because people refer to its pages. */
async function readPdf(content: Buffer): Promise<Reading> {
  const unpdf = await loadPdf();
  try {
    const pages = await pagesOf(content, unpdf);
    let offset = 0;
    const passages = pages.flatMap((page, index) => {
      const start = offset;
      offset += page.length + 1;
      return cutIntoPassages(page, { syntax: 'plain', hasLines: false }).map((passage) => ({
        ...passage,
        start: start + passage.start,
        end: start + passage.end,
        heading: [`page ${index + 1}`],
      }));
    });
    return withText(passages);
  } catch (error) {
    return { problem: `the PDF cannot be read: ${errorText(error)}` };
  }
}

type Pdf = Awaited<ReturnType<typeof loadPdf>>;

async function loadPdf() {
  const unpdf = await loadPackage('unpdf', () => import('unpdf'));
  // Otherwise loaded for the first file.
  await unpdf.getResolvedPDFJS();
  return unpdf;
}

async function pagesOf(content: Buffer, { extractText, getDocumentProxy }: Pdf): Promise<readonly string[]> {
  const pdf = await getDocumentProxy(new Uint8Array(content));
  const { text } = await extractText(pdf, { mergePages: false });
  await pdf.cleanup();
  return text;
}

function withText(passages: readonly Passage[]): Reading {
  return passages.length === 0 ? { problem: 'it contains no text' } : { passages };
}
