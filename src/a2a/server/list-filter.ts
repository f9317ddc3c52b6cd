import { textIn, type JsonObject } from '../../core/json.js';
import { publisherIn } from '../translate/catalog.js';

/*
 * The filter of a registry's list (ARD 0.91, appendix A): `FIELD = 'VALUE'` and `FIELD > 'TIME'`, joined by AND. A value
 * may list several, with commas, of which one must fit.
 */

const MAX_LENGTH = 2_000;
const TERM = /^\s*([A-Za-z]+)\s*(=|>)\s*(?:'([^']*)'|"([^"]*)"|([^\s'"]+))\s*(AND\s|$)/;
/** Dates and times, as ISO 8601 writes them. */
const TIME = /^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:?\d{2})?)?$/;

type Test = (entry: JsonObject) => boolean;

const FIELDS: Readonly<Record<string, (value: string) => Test>> = {
  displayName: (value) => (entry) => textIn(entry['displayName']).toLowerCase().includes(value.toLowerCase()),
  type: (value) => (entry) => listed(value).includes(textIn(entry['type'])),
  publisherId: (value) => (entry) =>
    listed(value.toLowerCase()).includes(publisherIn(textIn(entry['identifier'])) ?? ''),
  updatedAfter: isAfter,
  // An entry has one time, that of its last change: later than its creation, so this leaves out no entry that fits.
  createdAfter: isAfter,
};

function isAfter(value: string): Test {
  const time = TIME.test(value) ? Date.parse(value) : NaN;
  if (Number.isNaN(time))
    throw new SyntaxError('must have a date or a time, such as 2026-01-01, behind After');
  return (entry) => Date.parse(textIn(entry['updatedAt'])) > time;
}

/** Returns the test of whether an entry fits a filter. Throws a `SyntaxError`, whose text follows the word "filter". */
export function parseFilter(filter: string): Test {
  if (filter.length > MAX_LENGTH) throw new SyntaxError(`must have at most ${MAX_LENGTH} characters`);
  const tests: Test[] = [];
  for (let rest = filter; ;) {
    const [term, field = '', operator, single, double, bare, next] = TERM.exec(rest) ?? [];
    if (term === undefined) throw new SyntaxError("must be terms such as type = 'a,b' with AND between them");
    const test = Object.hasOwn(FIELDS, field) ? FIELDS[field] : undefined;
    if (!test)
      throw new SyntaxError(`must not name ${field}: its fields are ${Object.keys(FIELDS).join(', ')}`);
    if (operator === '>' && !field.endsWith('After'))
      throw new SyntaxError(`must compare ${field} with =, not with >`);
    tests.push(test(single ?? double ?? bare ?? ''));
    if (next === '') return (entry) => tests.every((one) => one(entry));
    rest = rest.slice(term.length);
  }
}

function listed(value: string): readonly string[] {
  return value.split(',').map((one) => one.trim());
}
