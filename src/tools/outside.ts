import { z } from 'zod';
import type { ToolContext } from '../core/tool.js';

const ADDRESS = /^https?:\/\//i;

/** By which a model says so itself, for tools that keep something. */
export function outsideField() {
  return z
    .boolean()
    .optional()
    .describe('True when it stems from a page, a document or another agent and not from the user');
}

/** What somebody asks to keep, as far as it tells where it comes from. */
export interface Kept {
  readonly fromOutside?: boolean | undefined;
  /** Whatever is kept from an address stems from outside. */
  readonly source?: string | undefined;
}

/** Whether what is kept now carries the mark. A model can set it, and cannot leave it out. */
export function carriesMark(
  { fromOutside = false, source = '' }: Kept,
  { hasReadOutside }: Pick<ToolContext, 'hasReadOutside'>,
): boolean {
  return fromOutside || hasReadOutside || ADDRESS.test(source);
}
