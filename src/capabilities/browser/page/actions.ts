import type { ActionResult } from '../page-functions.js';
import { elementOf, isChecked, label, type AnyElement } from './elements.js';

const CENTERED = { block: 'center', inline: 'center', behavior: 'instant' } as const;
const OPTIONS_NAMED = 30;
const PICKERS = /^(date|time|month|week|datetime-local|color|range)$/;
const NO_TEXT_FIELDS = /^(submit|reset|button|image|checkbox|radio|file|hidden)$/;

type Point = Readonly<Record<'x' | 'y', number>>;

/** Makes a function that names its element by number. */
function onElement<Given extends readonly unknown[]>(
  act: (element: AnyElement, ...given: Given) => ActionResult,
) {
  return (number: number, ...given: Given): ActionResult => {
    const element = elementOf(number);
    return element ? act(element, ...given) : { problem: 'gone' };
  };
}

export const point = onElement((element, opensHere: boolean) => {
  if (element.disabled) return { problem: 'disabled' };
  const at = pointOf(element);
  if (!at) return { problem: 'hidden' };
  const hit = deepestAt(at);
  const isHit = hit && [element, ...(element.labels ?? [])].some((outer) => isWithin(hit, outer));
  if (!isHit)
    return {
      problem: 'covered',
      by: hit ? label(`${hit.localName} ${hit.id || hit.innerText || ''}`) : 'nothing',
    };
  if (opensHere) openHere(element);
  if (element.formTarget) element.formTarget = '_self';
  return { ...at, checked: isChecked(element) };
});

export const checked = onElement((element) => ({ checked: isChecked(element) }));

export const focus = onElement((element, replaces: boolean) => {
  if (element.disabled || (replaces && element.readOnly)) return { problem: 'disabled' };
  if (replaces && !isEditable(element)) return { problem: 'not-editable' };
  element.scrollIntoView(CENTERED);
  element.focus();
  if (replaces && focused() !== element) return { problem: 'not-editable' };
  if (replaces) selectContent(element);
  return { isPassword: element.type === 'password', isPicker: PICKERS.test(element.type ?? '') };
});

export const put = onElement((element, value: string) => {
  element.value = value;
  fire(element);
  return element.value === value ? {} : { problem: 'refused' };
});

export const select = onElement((element, value: string) => {
  if (!(element instanceof HTMLSelectElement)) return { problem: 'not-select' };
  if (element.disabled) return { problem: 'disabled' };
  const wanted = value.trim().toLowerCase();
  const options = [...element.options];
  const option =
    options.find((one) => one.value === value || one.label.trim() === value) ??
    options.find((one) => one.label.trim().toLowerCase() === wanted);
  if (!option) {
    const by = options.slice(0, OPTIONS_NAMED).map((one) => label(one.label));
    return { problem: 'no-option', by: by.join(', ') };
  }
  element.focus();
  element.value = option.value;
  option.selected = true;
  fire(element);
  return {};
});

/** Scrolls to the element, and returns the middle of its first visible box. */
function pointOf(element: Element): Point | undefined {
  element.scrollIntoView(CENTERED);
  const box = [...element.getClientRects()].find(({ width, height }) => width > 0 && height > 0);
  if (!box) return undefined;
  const within = (value: number, most: number) => Math.min(Math.max(value, 0), most - 1);
  return { x: within(box.x + box.width / 2, innerWidth), y: within(box.y + box.height / 2, innerHeight) };
}

/** The element that a click at this point meets, also within shadow roots. */
function deepestAt({ x, y }: Point): HTMLElement | null {
  let found = document.elementFromPoint(x, y);
  while (found?.shadowRoot) {
    const inner = found.shadowRoot.elementFromPoint(x, y);
    if (!inner || inner === found) break;
    found = inner;
  }
  return found as HTMLElement | null;
}

function isWithin(inner: Node, outer: Node): boolean {
  for (let node: Node | null = inner; node; node = node.parentNode ?? (node as ShadowRoot).host ?? null)
    if (node === outer) return true;
  return false;
}

/** Another tab would stay unseen. */
function openHere(element: AnyElement): void {
  const link = element.closest<AnyElement>('a,area,form') ?? element.form;
  for (const opener of [link, element.form]) if (opener?.target) opener.target = '_self';
}

function focused(): Element | null {
  let found = document.activeElement;
  while (found?.shadowRoot?.activeElement) found = found.shadowRoot.activeElement;
  return found;
}

function isEditable({ isContentEditable, localName, type = '' }: AnyElement): boolean {
  return (
    isContentEditable || localName === 'textarea' || (localName === 'input' && !NO_TEXT_FIELDS.test(type))
  );
}

function selectContent(element: AnyElement): void {
  if (element.isContentEditable) getSelection()?.selectAllChildren(element);
  else if (element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement) element.select();
}

/** Tells the page that a value changed, as if a person had changed it. */
function fire(element: Element): void {
  element.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
  element.dispatchEvent(new Event('change', { bubbles: true }));
}
