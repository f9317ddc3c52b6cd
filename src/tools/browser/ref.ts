import { LangoError } from '../../core/errors.js';
import type { Session } from './session.js';

export const REF_PATTERN = /^p(\d{1,9})e(\d{1,9})$/;

/** The name of an element: the document's number and its own. */
export function toRef(page: number, element: number): string {
  return `p${page}e${element}`;
}

/** The element's number. Rejects with `conflict` when another document is shown by now. */
export async function resolveRef(session: Session, ref: string): Promise<number> {
  const [, page, element] = REF_PATTERN.exec(ref) ?? [];
  if (Number(page) !== (await session.pageNumber())) throw staleRef(ref);
  return Number(element);
}

export function staleRef(ref: string): LangoError {
  return new LangoError('conflict', `ref: ${ref} is not on the page that is shown now.`, {
    hint: 'Call browser_observe and use a ref from its answer.',
  });
}
