import type { JsonObject } from '../../core/json.js';

/** A part of a long text or list. */
export type Range = JsonObject & Readonly<Record<'total' | 'from' | 'to', number>>;

export type PageInfo = JsonObject & Readonly<Record<'height' | 'width', number>> & { readonly title: string };

/** The state of an element, as a person sees it. */
export interface ElementState extends JsonObject {
  readonly value?: string;
  readonly checked?: boolean | undefined;
  readonly disabled?: boolean;
  readonly readonly?: boolean;
  readonly options?: readonly string[];
  readonly url?: string;
}

/** An interactive element. Its number stays the same as long as its document is shown. */
export interface ObservedElement extends ElementState {
  readonly number: number;
  readonly kind: string;
  readonly name: string;
}

export type Observation = Range & { readonly elements: readonly ObservedElement[] };
export type PageText = Range & { readonly text: string };

export type PageLinks = Range & { readonly links: readonly Readonly<Record<'url' | 'text', string>>[] };

export type PageHtml = JsonObject & { readonly html: string; readonly isCut: boolean };

/** An article, and what Readability finds about it: title, byline, site, and the time of publication. */
export type Article = PageHtml & { readonly about: Readonly<Record<string, string>> };

/** The result of an action on an element, or why the element cannot take it. */
export interface ActionResult extends JsonObject {
  readonly problem?: string;
  readonly by?: string;
  readonly x?: number;
  readonly y?: number;
  readonly checked?: boolean | undefined;
  readonly isPicker?: boolean;
  readonly isPassword?: boolean;
}

/** The functions of the page script (page/). They name elements by their numbers. */
export interface PageFunctions {
  info(): PageInfo;
  /** The milliseconds since the document last changed. */
  stillFor(): number;
  observe(offset: number, count: number): Observation;
  text(offset: number, count: number): PageText;
  links(offset: number, count: number): PageLinks;
  html(): PageHtml;
  /** Needs Readability, as `globalThis.langoReadability`. Null when the page has no article. */
  article(): Article | null;
  /** Scrolls to the element and returns where to click on it. With `opensHere`, links open in the same tab from now on. */
  point(number: number, opensHere: boolean): ActionResult;
  checked(number: number): ActionResult;
  /** Focuses an element; with `replaces`, a text field with its content selected. */
  focus(number: number, replaces: boolean): ActionResult;
  /** Sets the value of a field at once. */
  put(number: number, value: string): ActionResult;
  /** Selects an option by its value or label. */
  select(number: number, value: string): ActionResult;
}
