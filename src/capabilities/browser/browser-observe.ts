import { LangoError } from '../../core/errors.js';
import type { ToolOutput } from '../../core/tool.js';
import type { Steps } from './driver-messages.js';
import type { ObservedElement } from './page-functions.js';
import { describePage, describeRange } from './report.js';
import type { Session } from './session.js';

/** Lists the interactive elements. A ref stays valid as long as its document is shown. */
export async function observe(session: Session, { offset }: Steps['observe']): Promise<ToolOutput> {
  const page = await session.documentNumber();
  const seen = await session.call('observe', offset, session.limits.elements);
  const part = describeRange(seen, 'elements');
  const lines = seen.elements.map((element) => describeElement(element, page));
  const pageText = lines.join('\n') || '(no interactive elements)';
  return { content: await describePage(session, [`Elements: ${seen.total}`, ...part], pageText) };
}

export function describeElement(element: ObservedElement, page: number): string {
  const { number, kind, name, value, checked, disabled, readonly: isFixed, options, url } = element;
  const extras = [
    value && `value "${value}"`,
    checked !== undefined && (checked ? 'checked' : 'not checked'),
    disabled && 'disabled',
    isFixed && 'read-only',
    options && `options: ${options.join(' | ')}`,
    url && `-> ${url}`,
  ];
  return [`p${page}e${number} ${kind} "${name}"`, ...extras.filter(Boolean)].join(' ');
}

/** A ref: the number of the document, and that of the element in it. */
export const REF_PATTERN = /^p(\d{1,9})e(\d{1,9})$/;

/** Returns the number of the element. Rejects with `conflict` when another document is shown by now. */
export async function resolveRef(session: Session, ref: string): Promise<number> {
  const [, page, element] = REF_PATTERN.exec(ref) ?? [];
  if (Number(page) !== (await session.documentNumber())) throw staleRef(ref);
  return Number(element);
}

export function staleRef(ref: string): LangoError {
  const hint = 'Call browser_observe and use a ref from its result.';
  return new LangoError('conflict', `ref: ${ref} does not belong to the page that is shown now.`, { hint });
}
