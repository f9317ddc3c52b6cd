import type { Triple } from '../../core/graph.js';
import { nameKey } from '../../core/graph.js';
import { NAME_MAX, TRIPLES_MAX } from './fields.js';

/** What one call of a model reads. */
const PART_CHARACTERS = 8_000;

/** A text in parts that are not too long, cut between paragraphs where that can be. */
export function partsOf(text: string): readonly string[] {
  const parts: string[] = [];
  for (const paragraph of text.split('\n\n').flatMap(pieces)) {
    const joined = `${parts.at(-1) ?? ''}\n\n${paragraph}`;
    if (parts.length > 0 && joined.length <= PART_CHARACTERS) parts[parts.length - 1] = joined;
    else parts.push(paragraph);
  }
  return parts.filter((part) => part.trim() !== '');
}

function pieces(paragraph: string): readonly string[] {
  return paragraph.match(new RegExp(`.{1,${PART_CHARACTERS}}`, 'gsu')) ?? [];
}

/** The lines that are "subject | predicate | object", each once; what else a model wrote is left out. */
export function toTriples(lines: readonly string[]): readonly Triple[] {
  const triples = lines.flatMap((line) => {
    const names = line
      .replace(/^[-*\s]+/, '')
      .split('|')
      .map((name) => name.trim());
    const [subject = '', predicate = '', object = ''] = names;
    const isOne = names.length === 3 && names.every((name) => name !== '' && name.length <= NAME_MAX);
    return isOne ? [{ subject, predicate, object }] : [];
  });
  const distinct = new Map(triples.map((one) => [Object.values(one).map(nameKey).join('\0'), one]));
  return [...distinct.values()].slice(0, TRIPLES_MAX);
}
