/** A quotation in a text: where it stands, quotes included, and what is in it. */
export interface Quotation {
  readonly start: number;
  readonly end: number;
  readonly inner: string;
}

const CLOSERS: Readonly<Record<string, string>> = { '"': '"', "'": "'", '`': '`', '“': '”', '‘': '’' };
const BEFORE_OPENER = /[\s([{<=:,>]/;
const AFTER_CLOSER = /[\s.,;:!?)\]}<>|&]/;
const FENCE_LENGTH = 3;

/**
 * The quotations of a text in order: "…", '…', `…`, “…”, ‘…’ and fenced blocks. An apostrophe is no quote:
 * quotes open after white space or a bracket, and one that is never closed is a plain character. Linear: a closer that
 * was searched for in vain is not searched for again.
 */
export function findQuotations(text: string): readonly Quotation[] {
  const found: Quotation[] = [];
  const unclosed = new Set<string>();
  let index = 0;
  while (index < text.length) {
    const quotation = quotationAt(text, index, unclosed);
    if (quotation) found.push(quotation);
    index = quotation ? quotation.end : index + 1;
  }
  return found;
}

/** `text` in quotes that `findQuotations` takes apart again, whatever is in it. */
export function quote(text: string): string {
  if (!/["\n]/.test(text)) return `"${text}"`;
  let longest = FENCE_LENGTH - 1;
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}

function quotationAt(text: string, start: number, unclosed: Set<string>): Quotation | undefined {
  const opener = text.charAt(start);
  const closer = CLOSERS[opener];
  if (closer === undefined) return undefined;
  if (start > 0 && !BEFORE_OPENER.test(text.charAt(start - 1))) return undefined;
  if (opener === '`') return backtickQuotation(text, start, unclosed);
  if (unclosed.has(opener)) return undefined;
  const from = start + 1;
  const end = opener === "'" ? singleQuoteEnd(text, from) : text.indexOf(closer, from);
  if (end === -1) {
    unclosed.add(opener);
    return undefined;
  }
  return { start, end: end + 1, inner: text.slice(from, end) };
}

function backtickQuotation(text: string, start: number, unclosed: Set<string>): Quotation | undefined {
  let from = start;
  while (text[from] === '`') from += 1;
  const fence = text.slice(start, from);
  if (fence.length === 2 || unclosed.has(fence)) return undefined;
  const end = text.indexOf(fence, from);
  if (end === -1) {
    unclosed.add(fence);
    return undefined;
  }
  const inner = text.slice(from, end);
  return { start, end: end + fence.length, inner: fence.length === 1 ? inner : blockText(inner) };
}

/** What stands between the two lines of a fence, the language after the first left out. */
function blockText(inner: string): string {
  const lineEnd = inner.indexOf('\n');
  const isTagged = lineEnd !== -1 && /^[\w+-]*\s*$/.test(inner.slice(0, Math.min(lineEnd, 40)));
  const body = isTagged ? inner.slice(lineEnd + 1) : inner;
  return body.endsWith('\n') ? body.slice(0, -1) : body;
}

function singleQuoteEnd(text: string, from: number): number {
  let end = text.indexOf("'", from);
  while (end !== -1 && end + 1 < text.length && !AFTER_CLOSER.test(text.charAt(end + 1))) {
    end = text.indexOf("'", end + 1);
  }
  return end;
}
