import type { z } from 'zod';
import type { artifact, message, part } from './event-schema.js';
import { isJsonObject } from './json.js';

/** A part of a message or artifact (A2A 1.0 section 4.1.6). `bytes` is base64 text, so that a part is plain JSON. */
export type Part = Readonly<z.output<typeof part>>;

/** Base64 text of either alphabet, with or without its padding. */
export const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

export type Message = Readonly<z.output<typeof message>>;
export type Artifact = Readonly<z.output<typeof artifact>>;

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
  return parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('\n');
}
