import { randomBytes } from 'node:crypto';
import { isJsonObject } from '../../../core/json.js';

/*
 * The SDK's codec loses a member named __proto__ of data and metadata. A name of the same length, which occurs nowhere else,
 * stands for it in the bytes while they are decoded, and in the message while it is encoded.
 */

const KEY = '__proto__';

export function decodesProtoKey<Sent>(deserialize: (bytes: Buffer) => Sent): (bytes: Buffer) => Sent {
  return (bytes) => {
    if (!bytes.includes(KEY)) return deserialize(bytes);
    const standIn = newStandIn();
    return renamed(deserialize(swapped(bytes, KEY, standIn)), standIn, KEY) as Sent;
  };
}

export function encodesProtoKey<Message>(serialize: (message: Message) => Buffer) {
  return (message: Message): Buffer => {
    if (!hasProtoKey(message)) return serialize(message);
    const standIn = newStandIn();
    return swapped(serialize(renamed(message, KEY, standIn) as Message), standIn, KEY);
  };
}

const newStandIn = (): string => randomBytes(KEY.length).toString('base64url').slice(0, KEY.length);

/** Replaces a text by another one of the same length. */
function swapped(bytes: Uint8Array, from: string, to: string): Buffer {
  const copy = Buffer.from(bytes);
  for (let at = copy.indexOf(from); at >= 0; at = copy.indexOf(from, at + from.length)) copy.write(to, at);
  return copy;
}

/** Replaces a text in all names, texts and bytes of a message. */
function renamed(value: unknown, from: string, to: string): unknown {
  if (typeof value === 'string') return value.replaceAll(from, to);
  if (value instanceof Uint8Array) return swapped(value, from, to);
  if (Array.isArray(value)) return value.map((item) => renamed(item, from, to));
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(
    entries.map(([name, held]) => [name.replaceAll(from, to), renamed(held, from, to)]),
  );
}

function hasProtoKey(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return false;
  return Object.hasOwn(value, KEY) || Object.values(value).some(hasProtoKey);
}
