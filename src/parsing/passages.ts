/** A part of a document, the unit that searches find. */
export interface Passage {
  readonly text: string;
  /** The range in the document's text, in UTF-16 code units. */
  readonly start: number;
  readonly end: number;
  /** Counted from 1; undefined where the file has other lines than the text (HTML, PDF). */
  readonly lines: readonly [first: number, last: number] | undefined;
  /** The headings above the passage, the outermost first. */
  readonly heading: readonly string[];
}

export interface PassageOptions {
  readonly syntax: 'markdown' | 'plain'; // In Markdown, headings divide the text and fenced code stays whole.
  readonly hasLines: boolean; // False for converted text, whose line numbers mean nothing to a person.
}

/** Usual and maximum length of a passage, in bytes of UTF-8. */
const USUAL_BYTES = 1_000;
const MAX_BYTES = 2_000;

const HEADING = /^(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*$/;
const FENCE = /^[ \t]*(`{3,}|~{3,})/;

/** Lines that belong together, or a part of an overlong line. */
interface Block {
  readonly start: number;
  readonly end: number;
  readonly firstLine: number;
  readonly lastLine: number;
  readonly heading: readonly string[];
  readonly isHeading: boolean;
}

interface Line {
  readonly start: number;
  readonly end: number; // Without the line break.
  readonly number: number;
}

/** Cuts a text at headings, else between paragraphs, lines or words. A blank text has no passages. */
export function cutIntoPassages(text: string, options: PassageOptions): readonly Passage[] {
  const blocks = blocksOf(text, options.syntax).flatMap((block) => split(text, block));
  return group(text, blocks).flatMap((members) => toPassage(text, members, options.hasLines) ?? []);
}

function linesOf(text: string): readonly Line[] {
  let start = 0;
  return text.split('\n').map((content, index) => {
    const line = { start, end: start + content.replace(/\r$/, '').length, number: index + 1 };
    start += content.length + 1;
    return line;
  });
}

/** Paragraphs, headings and fenced code, in order. */
function blocksOf(text: string, syntax: PassageOptions['syntax']): readonly Block[] {
  const blocks: Block[] = [];
  const open: Line[] = [];
  let heading: readonly string[] = [];
  let fence: string | undefined;
  const close = (isHeading = false): void => {
    const [first, last] = [open[0], open.at(-1)];
    open.length = 0;
    if (!first || !last) return;
    const range = { start: first.start, end: last.end, firstLine: first.number, lastLine: last.number };
    blocks.push({ ...range, heading, isHeading });
  };
  for (const line of linesOf(text)) {
    const content = text.slice(line.start, line.end);
    const mark = syntax === 'markdown' ? FENCE.exec(content)?.[1] : undefined;
    const title = syntax === 'markdown' && fence === undefined ? HEADING.exec(content) : null;
    if (title) {
      close();
      heading = [...heading.slice(0, title[1]!.length - 1), title[2]!];
      open.push(line);
      close(true);
    } else if (content.trim() === '' && fence === undefined) close();
    else open.push(line);
    if (mark === undefined) continue;
    if (fence === undefined) fence = mark;
    else if (mark.startsWith(fence)) fence = undefined;
  }
  close();
  return blocks;
}

/** Splits a block into short enough segments, at line ends where possible. */
function split(text: string, block: Block): readonly Block[] {
  if (bytesOf(text, block) <= MAX_BYTES) return [block];
  const lines = linesOf(text.slice(block.start, block.end)).map(({ start, end, number }): Block => {
    const line = block.firstLine + number - 1;
    return { ...block, start: block.start + start, end: block.start + end, firstLine: line, lastLine: line };
  });
  return lines.flatMap((line) => (bytesOf(text, line) <= MAX_BYTES ? [line] : splitLine(text, line)));
}

/** Splits a line at the last space before the limit, if there is one, and never inside a character. */
function splitLine(text: string, line: Block): readonly Block[] {
  const segments: Block[] = [];
  let { start } = line;
  while (start < line.end) {
    let end = Math.min(line.end, start + charactersThatFit(text, start));
    if (end < line.end) {
      const space = text.lastIndexOf(' ', end);
      if (space > start) end = space + 1;
    }
    segments.push({ ...line, start, end });
    start = end;
  }
  return segments;
}

/** The UTF-16 code units from `start` on that have the usual length in UTF-8: at least one. */
function charactersThatFit(text: string, start: number): number {
  const candidate = text.slice(start, start + USUAL_BYTES);
  const { read } = new TextEncoder().encodeInto(candidate, new Uint8Array(USUAL_BYTES));
  return Math.max(1, read);
}

/** Groups neighboring blocks of a section up to the usual length. A heading stays with the text that follows it. */
function group(text: string, blocks: readonly Block[]): readonly (readonly Block[])[] {
  const groups: Block[][] = [];
  for (const block of blocks) {
    const current = groups.at(-1);
    const bytes = current ? bytesOf(text, { start: current[0]!.start, end: block.end }) : Infinity;
    const isFull = !current || bytes > USUAL_BYTES * (current.every(({ isHeading }) => isHeading) ? 2 : 1);
    if (isFull || block.isHeading || current[0]!.heading !== block.heading) groups.push([block]);
    else current.push(block);
  }
  return groups.filter((members, index) => !isEmptySection(members, groups[index + 1]));
}

/** Whether a group is a lone heading that is followed by a subheading. */
function isEmptySection(members: readonly Block[], next: readonly Block[] | undefined): boolean {
  const only = members.length === 1 ? members[0]! : undefined;
  return (only?.isHeading ?? false) && (next?.[0]!.heading.length ?? 0) > only!.heading.length;
}

function toPassage(text: string, members: readonly Block[], hasLines: boolean): Passage | undefined {
  const [first, last] = [members[0]!, members.at(-1)!];
  const whole = text.slice(first.start, last.end);
  const content = whole.trim();
  if (content === '') return undefined;
  const start = first.start + whole.indexOf(content);
  return {
    text: content,
    start,
    end: start + content.length,
    lines: hasLines ? [first.firstLine, last.lastLine] : undefined,
    heading: first.heading,
  };
}

function bytesOf(text: string, { start, end }: Pick<Block, 'start' | 'end'>): number {
  return Buffer.byteLength(text.slice(start, end));
}
