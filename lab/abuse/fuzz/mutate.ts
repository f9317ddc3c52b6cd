import type { Random } from './random.js';

const ODD_VALUES: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1e308,
  2 ** 53,
  '',
  ' ',
  '\u0000',
  '\ud800',
  '../../etc/passwd',
  'x'.repeat(5_000),
  [],
  {},
  [[[[]]]],
  { $case: 'text', value: 1 },
  { __proto__: null, constructor: { prototype: {} } },
  '9999-99-99T99:99:99Z',
  'http://127.0.0.1:1/',
  'ROLE_AGENT',
];
const MAX_DEPTH = 8;

/** Returns the value with one to three of its members changed, removed, duplicated or renamed. */
export function mutated(value: unknown, random: Random): unknown {
  let result = structuredClone(value);
  for (let left = 1 + random.below(3); left > 0; left -= 1) result = changed(result, random, 0);
  return result;
}

function changed(value: unknown, random: Random, depth: number): unknown {
  if (typeof value !== 'object' || value === null || depth === MAX_DEPTH || random.chance(15)) {
    return random.pick(ODD_VALUES);
  }
  if (Array.isArray(value)) {
    if (value.length === 0 || random.chance(20)) return [...(value as unknown[]), random.pick(ODD_VALUES)];
    const at = random.below(value.length);
    return value.map((item: unknown, index) => (index === at ? changed(item, random, depth + 1) : item));
  }
  const entries: [string, unknown][] = Object.entries(value);
  if (entries.length === 0) return { [JSON.stringify(random.pick(ODD_VALUES))]: random.pick(ODD_VALUES) };
  const [name, inner] = random.pick(entries);
  const others = Object.fromEntries(entries.filter(([other]) => other !== name));
  if (random.chance(15)) return others;
  if (random.chance(10)) return { ...others, [`${name}_`]: inner };
  return { ...others, [name]: changed(inner, random, depth + 1) };
}

/** Returns the bytes of a text, with some of them cut off, flipped, repeated or inserted. */
export function garbled(text: string | Buffer, random: Random): Buffer {
  const bytes = Buffer.from(text as string);
  switch (random.below(4)) {
    case 0:
      return bytes.subarray(0, random.below(bytes.length + 1));
    case 1:
      for (let left = 1 + random.below(5); left > 0 && bytes.length > 0; left -= 1)
        bytes[random.below(bytes.length)] = random.below(256);
      return bytes;
    case 2:
      return Buffer.concat([bytes, bytes.subarray(random.below(bytes.length + 1))]);
    default:
      return Buffer.concat([random.bytes(random.below(20)), bytes]);
  }
}
