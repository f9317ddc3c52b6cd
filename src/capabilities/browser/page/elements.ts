import type { ElementState, Observation, Range } from '../page-functions.js';

/** Bounds on everything that leaves a page. */
export const FOUND_MAX = 5_000;
const LABEL_MAX = 100;

export function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}

/** A text in one line, of at most `LABEL_MAX` characters. */
export function label(text: unknown): string {
  const whole = typeof text === 'string' ? text : '';
  return cut(whole.replace(/\s+/g, ' ').trim(), LABEL_MAX);
}

export function rangeOf(total: number, from: number, count: number): Range {
  return { total, from, to: Math.min(total, from + count) };
}

/** An element with the members that only some elements have. */
export type AnyElement = HTMLElement &
  Partial<
    Pick<HTMLInputElement, 'type' | 'value' | 'disabled' | 'readOnly' | 'labels' | 'form' | 'formTarget'> &
      Pick<HTMLFormElement, 'target'>
  >;

const SELECTOR = [
  'a[href],button,input:not([type=hidden]),select,textarea,summary,iframe,frame,[onclick],[contenteditable=""]',
  '[contenteditable=true],[role=button],[role=link],[role=checkbox],[role=radio],[role=tab],[role=menuitem]',
  '[role=option],[role=switch],[role=combobox],[role=textbox],[role=searchbox]',
].join();
const ROOTS_MAX = 200;
const STEPS_MAX = 100_000;
const NAME_TEXT_MAX = 500;
const ROLE_MAX = 20;
const OPTIONS_MAX = 30;
const URL_MAX = 500;

/** Weak, so that elements which a page removes leave the memory. */
const byNumber = new Map<number, WeakRef<AnyElement>>();
const numbers = new WeakMap<AnyElement, number>();
let last = 0;

function numberOf(element: AnyElement): number {
  const known = numbers.get(element);
  if (known !== undefined) return known;
  last += 1;
  numbers.set(element, last);
  byNumber.set(last, new WeakRef(element));
  return last;
}

/** The element of a number, while it is in the document. */
export function elementOf(number: number): AnyElement | undefined {
  const element = byNumber.get(number)?.deref();
  return element?.isConnected ? element : undefined;
}

/** Lists the visible interactive elements, and names their states as a person sees them. */
export function observe(offset: number, count: number): Observation {
  const all: AnyElement[] = [];
  for (const root of roots()) {
    for (const element of root.querySelectorAll<AnyElement>(SELECTOR)) {
      if (all.length >= FOUND_MAX) break;
      if (isVisible(element)) all.push(element);
    }
  }
  const range = rangeOf(all.length, offset, count);
  const elements = all.slice(range.from, range.to).map((element) => ({
    ...{ number: numberOf(element), kind: kindOf(element), name: nameOf(element) },
    ...stateOf(element),
  }));
  return { ...range, elements };
}

/** The document and the shadow roots in it. */
export function roots(): readonly ParentNode[] {
  const found: (Document | ShadowRoot)[] = [document];
  for (let index = 0; index < found.length && found.length < ROOTS_MAX; index += 1) {
    const walker = document.createTreeWalker(found[index]!, NodeFilter.SHOW_ELEMENT);
    for (let steps = 0; steps < STEPS_MAX && walker.nextNode(); steps += 1) {
      const inner = (walker.currentNode as Element).shadowRoot;
      if (inner && found.length < ROOTS_MAX) found.push(inner);
    }
  }
  return found;
}

function isVisible(element: Element): boolean {
  const { width, height } = element.getBoundingClientRect();
  const options = { visibilityProperty: true, opacityProperty: true };
  return width > 0 && height > 0 && element.checkVisibility(options);
}

function nameOf(element: AnyElement): string {
  const isField = element.matches('input,select,textarea');
  return label(
    element.getAttribute('aria-label') ||
      textOfIds(element, element.getAttribute('aria-labelledby') ?? '').trim() ||
      Array.from(element.labels ?? [], ({ innerText }) => innerText).join(' ') ||
      (/^(submit|reset|button)$/.test(element.type ?? '') && element.value) ||
      (isField ? '' : (element.innerText ?? '').slice(0, NAME_TEXT_MAX)) ||
      element.getAttribute('placeholder') ||
      element.getAttribute('alt') ||
      element.title ||
      element.querySelector<HTMLImageElement>('img[alt]')?.alt ||
      element.getAttribute('name'),
  );
}

function textOfIds(element: Element, ids: string): string {
  const root = element.getRootNode();
  const textOf = (id: string) =>
    root instanceof Document || root instanceof ShadowRoot ? root.getElementById(id)?.textContent : '';
  return ids
    .split(/\s+/)
    .map((id) => textOf(id) ?? '')
    .join(' ');
}

function kindOf(element: AnyElement): string {
  const { localName, type = '' } = element;
  if (localName === 'iframe' || localName === 'frame') return 'frame';
  const role = element.getAttribute('role');
  if (role) return role.slice(0, ROLE_MAX);
  if (localName === 'a') return 'link';
  if (localName !== 'input') return localName === 'textarea' ? 'textbox' : localName;
  if (/^(submit|reset|button|image)$/.test(type)) return 'button';
  return type === 'text' ? 'textbox' : type;
}

function stateOf(element: AnyElement): ElementState {
  const url = urlOf(element);
  const isDisabled = element.disabled || element.getAttribute('aria-disabled') === 'true';
  return {
    ...(isDisabled && { disabled: true }),
    ...(element.readOnly && { readonly: true }),
    ...valueOf(element),
    ...(url !== '' && { url: cut(url, URL_MAX) }),
    checked: isChecked(element),
  };
}

function valueOf(element: AnyElement): ElementState {
  if (element instanceof HTMLSelectElement) {
    const options = [...element.options].slice(0, OPTIONS_MAX).map((option) => label(option.label));
    return { value: label(element.selectedOptions[0]?.label), options };
  }
  const { type = '', value = '' } = element;
  const hasText = !/^(submit|reset|button|checkbox|radio|file)$/.test(type);
  if (!element.matches('textarea,input') || !hasText) return {};
  if (type === 'password') return { value: value === '' ? '' : '(hidden)' };
  return { value: label(value) };
}

function urlOf(element: AnyElement): string {
  if (element instanceof HTMLAnchorElement) return element.href;
  const isFrame = element instanceof HTMLIFrameElement || element instanceof HTMLFrameElement;
  return isFrame ? element.src : '';
}

/** Undefined for an element that has no such state. */
export function isChecked(element: AnyElement): boolean | undefined {
  if (element instanceof HTMLInputElement && /^(checkbox|radio)$/.test(element.type)) return element.checked;
  const value = element.getAttribute('aria-checked');
  return value === null ? undefined : value === 'true';
}
