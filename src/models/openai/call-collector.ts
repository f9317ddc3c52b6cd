import { newId } from '../../core/ids.js';
import type { FunctionCall } from '../../core/model.js';
import { parseObject, toFunctionCall } from '../function-call.js';

/** A piece of a call, as servers really send it: everything may be missing. */
export interface CallFragment {
  readonly index?: number | null;
  readonly id?: string | null;
  readonly function?: { readonly name?: string | null; readonly arguments?: unknown } | null;
}

interface Draft {
  readonly index: number | undefined;
  id: string;
  name: string;
  argumentsText: string;
}

/**
 * Puts function calls together from their fragments. A fragment belongs to the newest call of its index. Some
 * servers leave the index out, or number every call 0, so one that brings a name may begin another call.
 */
export class CallCollector {
  readonly #drafts: Draft[] = [];

  add(fragment: CallFragment): void {
    const draft = this.#draftFor(fragment);
    const { name, arguments: args } = fragment.function ?? {};
    if (fragment.id && fragment.id !== draft.id) draft.id += fragment.id;
    if (name && name !== draft.name) draft.name += name;
    if (typeof args === 'string') draft.argumentsText += args;
    else if (args !== undefined && args !== null) draft.argumentsText = JSON.stringify(args);
  }

  /** In the order in which they began; ids are made up where the server gave none or the same twice. */
  calls(): readonly FunctionCall[] {
    const ids = new Set<string>();
    return this.#drafts.map((draft) => {
      const id = draft.id === '' || ids.has(draft.id) ? `call_${newId()}` : draft.id;
      ids.add(id);
      return toFunctionCall({ ...draft, id });
    });
  }

  #draftFor(fragment: CallFragment): Draft {
    const index = fragment.index ?? undefined;
    const open = this.#drafts.findLast((draft) => index === undefined || draft.index === index);
    if (open && !beginsAnother(fragment, open)) return open;
    const draft: Draft = { index, id: '', name: '', argumentsText: '' };
    this.#drafts.push(draft);
    return draft;
  }
}

function beginsAnother(fragment: CallFragment, open: Draft): boolean {
  if (!fragment.function?.name) return false;
  if (fragment.id && open.id) return fragment.id !== open.id;
  return typeof fragment.index !== 'number' || parseObject(open.argumentsText) !== undefined;
}
