import { isJsonObject, type Json, type JsonObject } from './json.js';

/** A part of a message or artifact (A2A 1.0 section 4.1.6). `bytes` is base64 text, so that a part is plain JSON. */
export type Part =
  | ({ readonly kind: 'text'; readonly text: string } & PartExtras)
  | ({ readonly kind: 'data'; readonly data: Json } & PartExtras)
  | ({ readonly kind: 'file'; readonly bytes: string } & PartExtras)
  | ({ readonly kind: 'file'; readonly url: string } & PartExtras);

/** Base64 text of either alphabet, with or without its padding. */
export const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

type PartExtras = Readonly<{ mediaType?: string; filename?: string; metadata?: JsonObject }>;

export interface Message {
  readonly id: string;
  readonly role: 'user' | 'agent';
  readonly parts: readonly Part[];
  readonly metadata?: JsonObject;
  readonly extensions?: readonly string[];
  readonly referenceTaskIds?: readonly string[];
}

export interface Artifact {
  readonly id: string;
  readonly name?: string;
  readonly description?: string;
  readonly parts: readonly Part[];
  readonly metadata?: JsonObject;
  readonly extensions?: readonly string[];
}

/** Checks a value from code that is not type-checked. */
export function isPart(value: unknown): value is Part {
  if (!isJsonObject(value)) return false;
  if (value.kind === 'file') return typeof value.bytes === 'string' || typeof value.url === 'string';
  return value.kind === 'data'
    ? value.data !== undefined
    : value.kind === 'text' && typeof value.text === 'string';
}

export function textPart(text: string): Part {
  return { kind: 'text', text };
}

/** The types of images that the models of all vendors read. */
export const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const;
const TYPES = [...IMAGE_TYPES, 'application/pdf'];
const BEGINNINGS = [/^iVBORw0KGgo/, /^[/_]9j[/_]/, /^R0lGOD/, /^UklGR.{7}RUJQ/, /^JVBERi0/];

/** Returns the media type that the first bytes of a file (base64) identify; undefined for an unknown format. */
export function typeOfBytes(bytes: string): string | undefined {
  return TYPES[BEGINNINGS.findIndex((beginning) => beginning.test(bytes))];
}

/** Joins the text parts with line breaks; empty without text parts. */
export function textOf(parts: readonly Part[]): string {
  const texts: string[] = [];
  for (const part of parts) if (part.kind === 'text') texts.push(part.text);
  return texts.join('\n');
}
