import type { NewEntry } from '../../src/capabilities/knowledge/stores/knowledge.js';
import type { NewDocument } from '../../src/capabilities/knowledge/stores/library.js';
import { cutIntoPassages } from '../../src/parsing/passages.js';

export function documentOf(name: string, text: string, changes: Partial<NewDocument> = {}): NewDocument {
  return {
    collection: 'documents',
    origin: `file:///${name}`,
    name,
    hash: text,
    modifiedAt: 1,
    bytes: text.length,
    facts: { fromOutside: true },
    passages: cutIntoPassages(text, { syntax: 'markdown', hasLines: true }),
    ...changes,
  };
}

let calls = 0;

export function entryOf(key: string, content: string, changes: Partial<NewEntry> = {}): NewEntry {
  return {
    kind: 'knowledge',
    key,
    category: 'general',
    content,
    tags: [],
    provenance: { fromOutside: false },
    callKey: `call ${(calls += 1)}`,
    passages: cutIntoPassages(content, { syntax: 'markdown', hasLines: false }),
    ...changes,
  };
}

/** A vector of length 1 in the direction of these numbers. */
export function unit(...numbers: readonly number[]): Float32Array {
  const length = Math.hypot(...numbers);
  return Float32Array.from(numbers, (number) => number / length);
}
