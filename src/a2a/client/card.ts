import { AgentCard } from '@a2a-js/sdk';
import { DefaultAgentCardResolver } from '@a2a-js/sdk/client';
import type { FlattenedJWSInput, JWSHeaderParameters, LocalJWKSet } from 'jose';
import { hash } from 'node:crypto';
import { AGENT_NAME, type AgentProfile, type Skill } from '../../core/agent.js';
import { CARD_PATH, OLD_CARD_PATH, OMITS_MEMBERS, SIGNATURE_ALGORITHMS } from '../../core/card.js';
import { LangoError, errorText, isLangoError } from '../../core/errors.js';
import { readAll } from '../../core/http.js';
import { assertJsonValue, isJsonObject, parseJson, type Json, type JsonObject } from '../../core/json.js';
import { canonicalCard } from '../translate/card-canonical.js';
import { OUR_EXTENSIONS } from '../../core/extensions.js';
import { parseGrpcAddress } from './grpc-transport.js';

interface CardRequest {
  /** The address of the card, the agent or its host. */
  readonly url: string;
  /** Sends requests to the origin of `url` only. */
  readonly fetch: typeof fetch;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** The last cards by address, with the entity tags for the next request (RFC 9110 section 13). */
  readonly held?: HeldCards | undefined;
}

export type HeldCards = Map<string, { readonly etag: string; readonly json: JsonObject }>;

const MAX_SKILLS = 64;
const MAX_ITEMS = 16;
const MAX_EXAMPLES = 64;
const MAX_DESCRIPTION = 1_000;
const MAX_LABEL = 200;
const MAX_NAME = 64;
/**
 * The limits of requests to this server: functions that read a card may recurse. The size is limited too, so catalogs may
 * have any number of entries.
 */
const JSON_LIMITS = { depth: 64, keys: 1_000, containers: Infinity };

/** Fetches a card as JSON. Rejects as `fetchFirst` does. */
export async function fetchCard(request: CardRequest): ReturnType<typeof fetchFirst> {
  try {
    return await fetchFirst(cardUrls(request.url), 'card', request);
  } catch (error) {
    const base = new URL(request.url);
    const isBelow = base.pathname !== '/' && !base.pathname.endsWith('.json');
    if (!isBelow || !isLangoError(error, 'not-found')) throw error;
    // Some hosts have one agent below a path, and its card at the root.
    const root = await fetchFirst([new URL(CARD_PATH, base).href], 'card', request);
    if (namesPath(root.json, base.pathname)) return root;
    throw error;
  }
}

/** Whether a card has an interface at this path: it is the card of that agent, not of another one of the host. */
function namesPath({ url, supportedInterfaces: listed }: JsonObject, path: string): boolean {
  const interfaces = Array.isArray(listed) ? listed.filter(isJsonObject) : [];
  const plain = (address: Json | undefined) =>
    typeof address === 'string' ? URL.parse(address)?.pathname.replace(/\/$/, '') : undefined;
  return [url, ...interfaces.map((one) => one['url'])].some((one) => plain(one) === path.replace(/\/$/, ''));
}

/**
 * Fetches the first document that one of `urls` has, of the kind `what`. Rejects with a `LangoError`: `not-found`,
 * `too-large`, `invalid-agent-response`, …
 */
export async function fetchFirst(
  urls: readonly string[],
  what: 'card' | 'catalog',
  request: CardRequest,
): Promise<{ readonly url: string; readonly json: JsonObject }> {
  for (const url of urls) {
    const known = request.held?.get(url);
    const condition = known && { 'if-none-match': known.etag };
    const response = await request.fetch(url, {
      headers: { accept: 'application/json', 'a2a-version': '1.0', ...condition },
      signal: request.signal,
    });
    if (response.status === 304 && known) return { url, json: known.json };
    if (response.status === 404) {
      await response.body?.cancel();
      continue;
    }
    if (!response.ok) {
      const text = `The server responded to the request for the ${what} with status ${response.status}.`;
      throw new LangoError('unavailable', text);
    }
    const json = parseDocument(await readText(response, request.maxBytes, what), what);
    const etag = response.headers.get('etag');
    if (etag !== null) request.held?.set(url, { etag, json });
    return { url, json };
  }
  const { url } = request;
  const text = what === 'card' ? `There is no agent card at ${url}.` : `There is no ${what} at ${url}.`;
  throw new LangoError('not-found', text);
}

function cardUrls(url: string): readonly string[] {
  const base = new URL(url);
  if (base.pathname.endsWith('.json')) return [base.href];
  // Mastra and VoltAgent serve the agent /api/a2a/ID or /a2a/ID, and its card beside it.
  const [, prefix, id] = /^(.*)\/a2a\/([^/]+)\/?$/.exec(base.pathname) ?? [];
  const beside = id === undefined ? [] : [new URL(`${prefix}/.well-known/${id}/agent-card.json`, base).href];
  if (!base.pathname.endsWith('/')) base.pathname += '/';
  return [...[CARD_PATH, OLD_CARD_PATH].map((path) => new URL(`.${path}`, base).href), ...beside];
}

async function readText(response: Response, maxBytes: number, what: string): Promise<string> {
  const bytes = await readAll(response.body, maxBytes);
  if (bytes) return bytes.toString('utf8');
  throw new LangoError('too-large', `The ${what} is larger than ${maxBytes} bytes.`);
}

function parseDocument(text: string, what: string): JsonObject {
  const value = parseJson(text);
  if (value === undefined) throw invalid(`The ${what} is not JSON.`);
  if (!isJsonObject(value)) throw invalid(`The ${what} is not a JSON object.`);
  try {
    assertJsonValue(value, JSON_LIMITS);
  } catch (cause) {
    throw invalid(`The ${what} cannot be used. ${errorText(cause)}`, cause);
  }
  return value;
}

/** Reads a card of A2A 1.0 or 0.3. Throws `invalid-agent-response` naming the first field that is wrong. */
export function parseCard(json: JsonObject): AgentCard {
  const isCurrent = Array.isArray(json['supportedInterfaces']);
  const whole = { ...json, description: json['description'] ?? '' };
  if (isCurrent) assertFields(whole);
  let card: AgentCard;
  try {
    card = isCurrent ? AgentCard.fromJSON(whole) : legacyResolver.normalizeAgentCard(whole);
  } catch (cause) {
    throw invalid('The card does not have the form of A2A 1.0 or 0.3.', cause);
  }
  if (!isCurrent) assertFields(AgentCard.toJSON(card) as JsonObject);
  // Treats all versions before 1.0 as 0.3: some frameworks name 0.2 and use 0.3.
  const supportedInterfaces = card.supportedInterfaces.map((one) =>
    one.protocolVersion.startsWith('0.') ? { ...one, protocolVersion: '0.3' } : one,
  );
  return { ...card, supportedInterfaces };
}

const legacyResolver = new DefaultAgentCardResolver({ legacyCompat: { enabled: true } });

function assertFields(json: JsonObject): void {
  for (const field of ['name', 'version'] as const) {
    const value = json[field];
    if (typeof value !== 'string' || value.trim() === '') throw wrong(`${field} is missing`);
  }
  if (typeof (json['description'] ?? '') !== 'string') throw wrong('description is not a string');
  const interfaces = json['supportedInterfaces'];
  if (!Array.isArray(interfaces) || interfaces.length === 0) throw wrong('supportedInterfaces is missing');
  for (const one of interfaces) {
    const isComplete =
      isJsonObject(one) && typeof one['url'] === 'string' && typeof one['protocolBinding'] === 'string';
    if (!isComplete) throw wrong('supportedInterfaces has an entry without url or protocolBinding');
  }
  const skills = json['skills'] ?? [];
  if (!Array.isArray(skills) || !skills.every(isJsonObject)) throw wrong('skills is not a list of objects');
}

/**
 * Checks that a remote card names only web addresses on `origin` and gRPC addresses on the same host, and requires no
 * extension that we do not support. Throws `forbidden` or `extension-required`.
 */
export function assertReachable(card: AgentCard, origin: string): void {
  for (const { url, protocolBinding } of card.supportedInterfaces) {
    if (protocolBinding === 'GRPC') {
      const address = parseGrpcAddress(url);
      if (address?.host.toLowerCase() === new URL(origin).hostname) continue;
      const text = `The card names the gRPC address ${label(url)}, which is not on the host of ${origin}.`;
      throw new LangoError('forbidden', text, { hint: hintFor('', origin) });
    }
    // Addresses of unknown bindings are never called.
    if (!/^https?:/i.test(url) || URL.parse(url)?.origin === origin) continue;
    const text = `The card names the address ${label(url)}, which is not on ${origin}.`;
    throw new LangoError('forbidden', text, { hint: hintFor(url, origin) });
  }
  const foreign = card.capabilities?.extensions.find(
    ({ uri, required }) => required && !OUR_EXTENSIONS.includes(uri),
  );
  if (!foreign) return;
  const text = `The agent requires the extension ${label(foreign.uri)}, which this client does not support.`;
  throw new LangoError('extension-required', text);
}

/** Advises on the two settings that can help: the address of the card's origin, or `relocate`. */
function hintFor(url: string, origin: string): string {
  const own = URL.parse(url)?.origin;
  const named = own === undefined ? '' : `set url to ${own} if this machine can reach it, or `;
  return `In its entry of a2a.remoteAgents, ${named}set relocate: true to call it at ${origin}.`;
}

/** Returns the card with its addresses moved to `origin`. Paths stay the same. */
export function relocated(card: AgentCard, origin: string): AgentCard {
  const supportedInterfaces = card.supportedInterfaces.map((one) => {
    if (one.protocolBinding === 'GRPC') {
      const address = parseGrpcAddress(one.url);
      const scheme = address?.isSecure ? 'grpcs://' : '';
      return address ? { ...one, url: `${scheme}${new URL(origin).hostname}:${address.port}` } : one;
    }
    const url = /^https?:/i.test(one.url) && URL.parse(one.url);
    return url ? { ...one, url: `${origin}${url.pathname}${url.search}` } : one;
  });
  return { ...card, supportedInterfaces };
}

/**
 * Creates the profile of an agent for prompts and lists, with texts on one line and limits on all lengths. Without
 * `name`, the profile's name is made from the card's. Throws `invalid-agent-response` when that gives no valid name.
 */
export function toProfile(card: AgentCard, name: string | undefined): AgentProfile {
  const chosen = name ?? slug(card.name);
  if (!AGENT_NAME.test(chosen)) {
    throw wrong(
      `the name "${label(name ?? card.name)}" cannot be used: a name has letters, digits and hyphens, and begins with a letter`,
    );
  }
  const inputModes = card.defaultInputModes.slice(0, MAX_ITEMS).map(label);
  const nameAndSkills = [card.name, ...card.skills.slice(0, MAX_ITEMS).map((skill) => skill.name)].join(', ');
  return {
    name: chosen,
    description: oneLine(card.description, MAX_DESCRIPTION) || oneLine(nameAndSkills, MAX_DESCRIPTION),
    skills: card.skills.slice(0, MAX_SKILLS).map(toSkill),
    ...(inputModes.length > 0 && { inputModes }),
  };
}

function toSkill(skill: AgentCard['skills'][number]): Skill {
  return {
    id: label(skill.id),
    name: label(skill.name),
    description: oneLine(skill.description, MAX_DESCRIPTION),
    tags: skill.tags.slice(0, MAX_ITEMS).map(label),
    examples: skill.examples.slice(0, MAX_EXAMPLES).map(label),
  };
}

function slug(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+/, '')
    .slice(0, MAX_NAME)
    .replace(/-+$/, '');
}

/** A short text of a card, in one line. */
export function label(text: string): string {
  return oneLine(text, MAX_LABEL);
}

/** Removes characters that could fake lines of a prompt or a terminal, or carry text that a model reads and a person cannot see. */
function oneLine(text: string, limit: number): string {
  return text
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\s]+/gu, ' ')
    .trim()
    .slice(0, limit)
    .toWellFormed();
}

function wrong(what: string): LangoError {
  return invalid(`The card cannot be used: ${what}.`);
}

function invalid(text: string, cause?: unknown): LangoError {
  return new LangoError('invalid-agent-response', text, { cause });
}

/** Finds the trusted public key that a signature names. Rejects when there is none. */
type FindKey = (
  header: JWSHeaderParameters,
  token: FlattenedJWSInput,
) => Promise<Awaited<ReturnType<LocalJWKSet>>>;

/** The error for a card that was read, but is not the one that was accepted. */
export class UntrustedCard extends LangoError {
  constructor(message: string, details: { readonly hint?: string } = {}) {
    super('forbidden', message, details);
  }
}

export interface CardTrust {
  /** Finds the trusted keys: one signature must be by one of them. */
  readonly findKey?: FindKey;
  /** The hash that the card must have: see `cardHash`. */
  readonly hash?: string;
}

const MAX_SIGNATURES = 16;
const FOR_OTHERS = 'a signature leaves out members of the card';

/** Computes the SHA-256 (in hex) of the card without its signatures, in the canonical form that is signed. */
export function cardHash(card: JsonObject): string {
  return hash('sha256', canonicalCard(card), 'hex');
}

/** Rejects with `forbidden` and the reason when the card is not trusted. */
export async function assertTrustedCard(card: JsonObject, trust: CardTrust): Promise<void> {
  const found = cardHash(card);
  if (trust.hash !== undefined && trust.hash.toLowerCase() !== found) {
    throw new UntrustedCard(`The card is not the one that was accepted: its hash is ${found}.`, {
      hint: 'Look at it with "lango card URL --verify"; to accept it, set verify.hash to this hash.',
    });
  }
  if (trust.findKey) await verifyCard(card, trust.findKey);
}

/**
 * Verifies the signatures of a card exactly as it was received, and resolves with the signer. One valid signature is
 * enough, so that keys can be rotated. Rejects with `forbidden`.
 */
export async function verifyCard(card: JsonObject, findKey: FindKey) {
  const signatures = Array.isArray(card['signatures']) ? (card['signatures'] as readonly unknown[]) : [];
  if (signatures.length === 0) throw new UntrustedCard('The card is not signed.');
  const payload = Buffer.from(canonicalCard(card)).toString('base64url');
  const reasons: string[] = [];
  for (const signature of signatures.slice(0, MAX_SIGNATURES)) {
    try {
      return await verifyOne(signature, payload, findKey);
    } catch (error) {
      reasons.push(reasonOf(error));
    }
  }
  const telling = reasons.filter((reason) => reason !== FOR_OTHERS);
  const text = [...new Set(telling.length > 0 ? telling : reasons)].join('; ');
  throw new UntrustedCard(`No signature of the card can be verified: ${text}.`);
}

/** Returns the reason of a failed verification. When the keys could not be loaded, returns the reason of that. */
function reasonOf(error: unknown): string {
  const isWithoutKeys = isLangoError(error, 'unavailable');
  return errorText(isWithoutKeys ? error.cause : error).replace(/\.$/, '');
}

/** Verifies one signature. The unprotected header is not signed, so it is ignored. */
async function verifyOne(signature: unknown, payload: string, findKey: FindKey) {
  if (!isJsonObject(signature)) throw new Error('a signature is not an object');
  const { protected: head, signature: value } = signature;
  if (typeof head !== 'string' || typeof value !== 'string') throw new Error('a signature is incomplete');
  const { flattenedVerify } = await import('jose');
  const signed = { protected: head, payload, signature: value };
  const algorithms = [...SIGNATURE_ALGORITHMS];
  const { protectedHeader } = await flattenedVerify(signed, findNamed(findKey), { algorithms });
  return { kid: String(protectedHeader?.kid), alg: String(protectedHeader?.alg) };
}

/** Requires that a signature names its key, and no extension: trying all keys would accept unintended ones. */
function findNamed(findKey: FindKey): FindKey {
  return (header, token) => {
    // The payload of an agent card is always encoded, and no extension of signatures is known (A2A 1.0 section 8.4).
    if (header.crit !== undefined) return Promise.reject(new Error('a signature requires an extension'));
    if (header[OMITS_MEMBERS] !== undefined) return Promise.reject(new Error(FOR_OTHERS));
    if (!header.kid) return Promise.reject(new Error('a signature names no key'));
    return findKey(header, token);
  };
}
