import type { Json, JsonObject } from '../../core/json.js';
import { isJsonObject } from '../../core/json.js';
import { cardSchema, show, shortened, templateSchema } from './card-schema.js';
import { BINDINGS } from './link.js';

/** A defect of an agent card. */
export interface CardFinding {
  /** `error`: the card violates the A2A specification. `warning`: it is of little help to a foreign orchestrator. */
  readonly severity: 'error' | 'warning';
  /** The place in the card, as in `skills[0].tags`. Empty for the card as a whole. The text goes on from it. */
  readonly path: string;
  /** One sentence: the fault, why it matters, and what to write instead. */
  readonly text: string;
}

export interface LintOptions {
  /** Whether the card is a file of agent-cards/. The server adds its version, interfaces and capabilities. */
  readonly isTemplate?: boolean;
  /** The size of the card as it was read. */
  readonly bytes?: number;
}

const MAX_FINDINGS = 100;
const MAX_CARD_BYTES = 64 * 1024;
const MAX_SKILLS = 64;
const MAX_EXAMPLES = 16;
const MIN_DESCRIPTION = 20;
const MAX_DESCRIPTION = 1_000;
/** Characters of a text that are checked. */
const MAX_READ = 2_000;
const MIN_EXAMPLE_WORDS = 2;
const KNOWN_VERSIONS = ['1.0', '0.3'];
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const BRACES = /[{}]/;
const TOOL_NAME = /\b[a-z][a-z0-9]*_[a-z0-9_]+\b/;

/**
 * Checks an agent card against A2A 1.0 and for its use to a foreign orchestrator. Takes any value and never throws.
 * Does no I/O: of signatures it checks the form only. Errors come before warnings.
 */
export function lintCard(
  card: unknown,
  { isTemplate = false, bytes = 0 }: LintOptions = {},
): readonly CardFinding[] {
  const result = (isTemplate ? templateSchema : cardSchema).safeParse(card);
  const errors = (result.error?.issues ?? []).map(({ path, message }) => error(pathText(path), message));
  if (isJsonObject(card)) errors.push(...referenceErrors(card));
  const wrong = errors.map(({ path }) => path);
  const isWrong = (at: string): boolean =>
    wrong.some((path) => path.startsWith(at) && /^(?:$|[.[])/.test(path.slice(at.length)));
  const warnings = isJsonObject(card)
    ? warningsOf(card, isTemplate).filter(({ path }) => !isWrong(path))
    : [];
  const all = [...errors, ...warnings];
  if (bytes > MAX_CARD_BYTES)
    all.push(warning('', `has ${bytes} bytes. Clients may refuse more than ${MAX_CARD_BYTES}: shorten it.`));
  const more = all.slice(MAX_FINDINGS);
  if (more.length === 0) return all;
  const severity = more[0]!.severity;
  const text = `has ${more.length} more findings. Correct the ones above first.`;
  return [...all.slice(0, MAX_FINDINGS), { severity, path: '', text }];
}

/** Checks what one part of a card says of another. */
function referenceErrors(card: JsonObject): readonly CardFinding[] {
  const { securitySchemes, securityRequirements, capabilities, skills } = card;
  const known = new Set(isJsonObject(securitySchemes) ? Object.keys(securitySchemes) : []);
  const ids = objects(skills).map(({ id }) => id);
  const unknown = (path: string, needed: Json | undefined): readonly CardFinding[] =>
    objects(needed)
      .flatMap(({ schemes }) => (isJsonObject(schemes) ? Object.keys(schemes) : []))
      .filter((name) => !known.has(name))
      .map((name) => error(path, `refers to ${show(name)}, which securitySchemes does not declare.`));
  const seen = new Set<Json | undefined>();
  const repeated = new Set(ids.filter((id) => typeof id === 'string' && seen.size === seen.add(id).size));
  const isExtended = isJsonObject(capabilities) && capabilities['extendedAgentCard'] === true;
  return [
    ...unknown('securityRequirements', securityRequirements),
    ...objects(skills).flatMap((skill, index) =>
      unknown(`skills[${index}].securityRequirements`, skill['securityRequirements']),
    ),
    ...[...repeated].map((id) =>
      error('skills', `holds the id ${show(id)} more than once. Ids have to be unique.`),
    ),
    ...(isExtended && known.size === 0
      ? [
          error(
            'capabilities.extendedAgentCard',
            'is true, but there are no securitySchemes to get that card with.',
          ),
        ]
      : []),
  ];
}

function warningsOf(card: JsonObject, isTemplate: boolean): readonly CardFinding[] {
  const skills = objects(card['skills']);
  return [
    ...textWarnings('name', card['name']),
    ...descriptionWarnings('description', card['description']),
    ...(isTemplate ? [] : interfaceWarnings(objects(card['supportedInterfaces']))),
    ...securityWarnings(card),
    ...(skills.length === 0
      ? [
          warning(
            'skills',
            'is empty, so an orchestrator cannot tell what to ask for. Describe at least one skill.',
          ),
        ]
      : []),
    ...(skills.length > MAX_SKILLS
      ? [
          warning(
            'skills',
            `has ${skills.length} entries. Orchestrators read ${MAX_SKILLS} at most: join related ones.`,
          ),
        ]
      : []),
    ...skills.slice(0, MAX_SKILLS).flatMap((skill, index) => skillWarnings(`skills[${index}]`, skill)),
  ];
}

function interfaceWarnings(interfaces: readonly JsonObject[]): readonly CardFinding[] {
  const path = 'supportedInterfaces';
  const isKnown = ({ protocolBinding, protocolVersion }: JsonObject): boolean =>
    BINDINGS.some((known) => known === protocolBinding) &&
    KNOWN_VERSIONS.some((known) => known === protocolVersion);
  if (interfaces.length === 0 || interfaces.some(isKnown)) return [];
  const known = `${BINDINGS.join(', ')} of version ${KNOWN_VERSIONS.join(' or ')}`;
  return [warning(path, `holds none of ${known}, so most clients cannot call the agent.`)];
}

function securityWarnings(card: JsonObject): readonly CardFinding[] {
  const { securitySchemes: schemes, securityRequirements: needed, security } = card;
  if (needed === undefined && security !== undefined)
    return [warning('security', 'is the name in A2A 0.3. Clients of 1.0 read securityRequirements.')];
  const isDeclared = isJsonObject(schemes) && Object.keys(schemes).length > 0;
  const isUsed = Array.isArray(needed) && needed.length > 0;
  if (!isDeclared || isUsed) return [];
  return [
    warning('securityRequirements', 'is empty, so clients cannot tell which of the securitySchemes to use.'),
  ];
}

function skillWarnings(
  path: string,
  { name, description, tags, examples }: JsonObject,
): readonly CardFinding[] {
  const isTagged = Array.isArray(tags) && tags.length > 0;
  return [
    ...textWarnings(`${path}.name`, name),
    ...descriptionWarnings(`${path}.description`, description),
    ...(isTagged
      ? []
      : [warning(`${path}.tags`, 'is empty, so searches miss the skill. Write a few keywords.')]),
    ...exampleWarnings(`${path}.examples`, Array.isArray(examples) ? (examples as readonly Json[]) : []),
  ];
}

function exampleWarnings(path: string, examples: readonly Json[]): readonly CardFinding[] {
  if (examples.length === 0)
    return [
      warning(path, 'is empty. Write two to four sentences that a person would say, to match requests with.'),
    ];
  const many =
    examples.length <= MAX_EXAMPLES
      ? []
      : [warning(path, `has ${examples.length} entries. Two to four are enough.`)];
  const each = examples.slice(0, MAX_EXAMPLES).flatMap((example, index) => {
    const at = `${path}[${index}]`;
    const found = textWarnings(at, example);
    if (found.length > 0 || typeof example !== 'string' || wordsIn(example) >= MIN_EXAMPLE_WORDS)
      return found;
    return [warning(at, `is ${show(example)}. Write a whole sentence that a person would say.`)];
  });
  return [...many, ...each];
}

function descriptionWarnings(path: string, text: Json | undefined): readonly CardFinding[] {
  const found = textWarnings(path, text);
  if (found.length > 0 || typeof text !== 'string' || text.trim() === '') return found;
  if (text.trim().length < MIN_DESCRIPTION)
    return [
      warning(path, `is ${show(text)}, too short to choose by. Say what is done, and when to ask for it.`),
    ];
  if (text.length <= MAX_DESCRIPTION) return [];
  return [
    warning(
      path,
      `has ${text.length} characters. Orchestrators cut it after ${MAX_DESCRIPTION}: shorten it.`,
    ),
  ];
}

function textWarnings(path: string, text: Json | undefined): readonly CardFinding[] {
  if (typeof text !== 'string') return [];
  const read = text.slice(0, MAX_READ);
  const tool = TOOL_NAME.exec(read)?.[0];
  if (INVISIBLE.test(read))
    return [warning(path, 'holds control characters or invisible marks. Write one line of plain text.')];
  if (BRACES.test(read))
    return [
      warning(path, `is ${show(text)}. Braces read like a template: write it as a person would say it.`),
    ];
  if (tool === undefined) return [];
  return [
    warning(
      path,
      `holds ${show(tool)}, which reads like the name of a tool. Say in plain words what it does.`,
    ),
  ];
}

const SEGMENTER = new Intl.Segmenter(undefined, { granularity: 'word' });

/** Counts the words of a text in any language. */
function wordsIn(text: string): number {
  return [...SEGMENTER.segment(text.slice(0, MAX_READ))].filter(({ isWordLike }) => isWordLike).length;
}

function error(path: string, text: string): CardFinding {
  return { severity: 'error', path, text };
}

function warning(path: string, text: string): CardFinding {
  return { severity: 'warning', path, text };
}

function objects(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter((one: unknown) => isJsonObject(one)) : [];
}

function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${shortened(String(key))}`))
    .join('')
    .replace(/^\./, '');
}
