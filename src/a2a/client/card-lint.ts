import { keyOf } from '../../core/findings.js';
import { isJsonObject, objectIn, objectsIn, type Json, type JsonObject } from '../../core/json.js';
import type { CardFinding } from '../../core/node-status.js';
import { WARNING, cardSchema, show, templateSchema } from './card-schema.js';

interface LintOptions {
  /** Whether the card is a file of agent-cards/. The server adds its version, interfaces and capabilities. */
  readonly isTemplate?: boolean;
  /** The size of the card as it was read. */
  readonly bytes?: number;
}

const MAX_FINDINGS = 100;
const MAX_CARD_BYTES = 64 * 1024;

/**
 * Checks an agent card against A2A 1.0, and whether it helps a foreign orchestrator. Takes any value and never throws.
 * Does no I/O, so it checks only the form of signatures. Returns errors before warnings.
 */
export function lintCard(card: unknown, { isTemplate = false, bytes = 0 }: LintOptions = {}) {
  const result = (isTemplate ? templateSchema : cardSchema).safeParse(card);
  const found = (result.error?.issues ?? []).map((issue): CardFinding => {
    const isWarning = issue.code === 'custom' && issue.params === WARNING;
    return (isWarning ? warning : error)(keyOf(issue.path), issue.message);
  });
  if (isJsonObject(card)) found.push(...referenceErrors(card), ...securityWarnings(card));
  const errors = found.filter(({ severity }) => severity === 'error');
  const isWrong = (at: string): boolean =>
    errors.some(({ path }) => path.startsWith(at) && /^(?:$|[.[])/.test(path.slice(at.length)));
  const warnings = found.filter(({ severity, path }) => severity === 'warning' && !isWrong(path));
  const all = [...errors, ...warnings];
  if (bytes > MAX_CARD_BYTES)
    all.push(warning('', `has ${bytes} bytes. Clients may refuse more than ${MAX_CARD_BYTES}: shorten it.`));
  const more = all.slice(MAX_FINDINGS);
  if (more.length === 0) return all;
  const severity = more[0]!.severity;
  const text = `has ${more.length} more findings. Correct the ones above first.`;
  return [...all.slice(0, MAX_FINDINGS), { severity, path: '', text }];
}

/** Checks the references from one part of a card to another. */
function referenceErrors(card: JsonObject): readonly CardFinding[] {
  const { securitySchemes, securityRequirements, capabilities, skills } = card;
  const known = new Set(Object.keys(objectIn(securitySchemes)));
  const ids = objectsIn(skills).map(({ id }) => id);
  const unknown = (path: string, needed: Json | undefined): readonly CardFinding[] =>
    objectsIn(needed)
      .flatMap(({ schemes }) => Object.keys(objectIn(schemes)))
      .filter((name) => !known.has(name))
      .map((name) => error(path, `refers to ${show(name)}, which securitySchemes does not declare.`));
  const seen = new Set<Json | undefined>();
  const repeated = new Set(ids.filter((id) => typeof id === 'string' && seen.size === seen.add(id).size));
  const isExtended = objectIn(capabilities)['extendedAgentCard'] === true;
  const withoutScheme = 'is true, but there are no securitySchemes to get that card with.';
  return [
    ...unknown('securityRequirements', securityRequirements),
    ...objectsIn(skills).flatMap((skill, index) =>
      unknown(`skills[${index}].securityRequirements`, skill['securityRequirements']),
    ),
    ...[...repeated].map((id) =>
      error('skills', `holds the id ${show(id)} more than once. Ids have to be unique.`),
    ),
    ...(isExtended && known.size === 0 ? [error('capabilities.extendedAgentCard', withoutScheme)] : []),
  ];
}

function securityWarnings(card: JsonObject): readonly CardFinding[] {
  const { securitySchemes: schemes, securityRequirements: needed, security } = card;
  if (needed === undefined && security !== undefined)
    return [warning('security', 'is the name in A2A 0.3. Clients of 1.0 read securityRequirements.')];
  const isUsed = Array.isArray(needed) && needed.length > 0;
  if (isUsed || Object.keys(objectIn(schemes)).length === 0) return [];
  return [
    warning('securityRequirements', 'is empty, so clients cannot tell which of the securitySchemes to use.'),
  ];
}

function error(path: string, text: string): CardFinding {
  return { severity: 'error', path, text };
}

function warning(path: string, text: string): CardFinding {
  return { severity: 'warning', path, text };
}
