import { AgentCard } from '@a2a-js/sdk';
import { DefaultAgentCardResolver } from '@a2a-js/sdk/client';
import type { FlattenedJWSInput, JWSHeaderParameters, LocalJWKSet } from 'jose';
import { hash } from 'node:crypto';
import type { AgentProfile, Skill } from '../../core/agent.js';
import { AGENT_NAME } from '../../core/agent.js';
import { CARD_PATH, OLD_CARD_PATH, SIGNATURE_ALGORITHMS } from '../../core/card.js';
import { LangoError, errorText } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import { isJsonObject } from '../../core/json.js';
import { canonicalCard } from '../translate/card-canonical.js';
import { OUR_EXTENSIONS } from '../translate/extensions.js';
import { grpcPlace } from './grpc-transport.js';

export interface CardRequest {
  /** Of the card, of the agent (its card stands below it), or of a host. */
  readonly url: string;
  /** Bound to the origin of `url`. */
  readonly fetch: typeof fetch;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

const MAX_SKILLS = 64;
const MAX_ITEMS = 16;
/** A skill of ours stands for a whole family of tools, with the examples of each. */
const MAX_EXAMPLES = 64;
const MAX_DESCRIPTION = 1_000;
const MAX_LABEL = 200;
const MAX_NAME = 64;

/** The card's JSON. Throws a `LangoError` when it cannot be had: `not-found`, `too-large`, `invalid-agent-response`, … */
export async function fetchCardJson(request: CardRequest): Promise<JsonObject> {
  for (const url of cardUrls(request.url)) {
    const response = await request.fetch(url, {
      headers: { accept: 'application/json', 'a2a-version': '1.0' },
      signal: request.signal,
    });
    if (response.status === 404) {
      await response.body?.cancel();
      continue;
    }
    if (!response.ok)
      throw new LangoError('unavailable', `The card was answered with status ${response.status}.`);
    return parseJson(await readText(response, request.maxBytes));
  }
  throw new LangoError('not-found', `There is no agent card at ${request.url}.`);
}

function cardUrls(url: string): readonly string[] {
  const base = new URL(url);
  if (base.pathname.endsWith('.json')) return [base.href];
  if (!base.pathname.endsWith('/')) base.pathname += '/';
  return [CARD_PATH, OLD_CARD_PATH].map((path) => new URL(`.${path}`, base).href);
}

async function readText(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const body: AsyncIterable<Uint8Array> | undefined = response.body ?? undefined;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > maxBytes) throw new LangoError('too-large', `The card is larger than ${maxBytes} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parseJson(text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new LangoError('invalid-agent-response', 'The card is not JSON.', { cause });
  }
  if (!isJsonObject(value)) throw new LangoError('invalid-agent-response', 'The card is not a JSON object.');
  return value;
}

/** Reads a card of A2A 1.0 or 0.3. Throws `invalid-agent-response` naming the first field that is wrong. */
export function parseCard(json: JsonObject): AgentCard {
  const isCurrent = Array.isArray(json['supportedInterfaces']);
  if (isCurrent) assertFields(json);
  let card: AgentCard;
  try {
    card = isCurrent ? AgentCard.fromJSON(json) : legacyResolver.normalizeAgentCard(json);
  } catch (cause) {
    throw new LangoError('invalid-agent-response', 'The card is malformed.', { cause });
  }
  if (!isCurrent) assertFields(AgentCard.toJSON(card) as JsonObject);
  return card;
}

const legacyResolver: DefaultAgentCardResolver = new DefaultAgentCardResolver({
  legacyCompat: { enabled: true },
});

function assertFields(json: JsonObject): void {
  for (const field of ['name', 'description', 'version'] as const) {
    const value = json[field];
    if (typeof value !== 'string' || value.trim() === '') throw wrong(`${field} is missing`);
  }
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
 * What a card from another machine must keep to: each web address on `origin`, gRPC on the same host, and no
 * extension required that we do not speak. Throws `forbidden` or `extension-required`.
 */
export function assertTrusted(card: AgentCard, origin: string): void {
  for (const { url, protocolBinding } of card.supportedInterfaces) {
    if (protocolBinding === 'GRPC') {
      const place = grpcPlace(url);
      if (place?.host.toLowerCase() === new URL(origin).hostname) continue;
      throw new LangoError(
        'forbidden',
        `The card names the gRPC address ${label(url)}, which is not on the host of ${origin}.`,
      );
    }
    // Others, of bindings that we do not know, are never called.
    if (!/^https?:/i.test(url)) continue;
    if (!URL.canParse(url) || new URL(url).origin !== origin) {
      throw new LangoError(
        'forbidden',
        `The card names the address ${label(url)}, which is not on ${origin}.`,
      );
    }
  }
  const foreign = card.capabilities?.extensions.find(
    ({ uri, required }) => required && !OUR_EXTENSIONS.includes(uri),
  );
  if (foreign) {
    throw new LangoError('extension-required', `The agent requires the extension ${label(foreign.uri)}.`);
  }
}

/** The card with its web addresses moved to `origin`; their paths stay. */
export function relocated(card: AgentCard, origin: string): AgentCard {
  const supportedInterfaces = card.supportedInterfaces.map((one) => {
    if (one.protocolBinding === 'GRPC') {
      const port = grpcPlace(one.url)?.port;
      return port === undefined ? one : { ...one, url: `${new URL(origin).hostname}:${port}` };
    }
    if (!/^https?:/i.test(one.url) || !URL.canParse(one.url)) return one;
    const { pathname, search } = new URL(one.url);
    return { ...one, url: `${origin}${pathname}${search}` };
  });
  return { ...card, supportedInterfaces };
}

/**
 * The agent's face for prompts and lists: texts in one line and capped, skills counted. `name` is taken as
 * it is; else one is made of the card's. Throws `invalid-agent-response` when that gives none.
 */
export function toProfile(card: AgentCard, name: string | undefined): AgentProfile {
  const chosen = name ?? slug(card.name);
  if (!AGENT_NAME.test(chosen)) {
    throw wrong(
      `the name "${label(name ?? card.name)}" cannot be used (letters, digits and hyphens are needed)`,
    );
  }
  return {
    name: chosen,
    description: oneLine(card.description, MAX_DESCRIPTION),
    skills: card.skills.slice(0, MAX_SKILLS).map(toSkill),
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

function label(text: string): string {
  return oneLine(text, MAX_LABEL);
}

/** Control characters could fake the lines of a prompt or of a terminal. */
function oneLine(text: string, limit: number): string {
  return text
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
    .slice(0, limit);
}

function wrong(what: string): LangoError {
  return new LangoError('invalid-agent-response', `The card cannot be used: ${what}.`);
}

/** Finds the public key that a signature names, among those that are trusted. Rejects when there is none. */
export type FindKey = (
  header: JWSHeaderParameters,
  token: FlattenedJWSInput,
) => Promise<Awaited<ReturnType<LocalJWKSet>>>;

/** What an operator asks of another server's card before it is used. */
export interface CardTrust {
  /** One signature has to be by one of these keys. */
  readonly findKey?: FindKey;
  /** The card has to be this one: see `cardHash`. */
  readonly hash?: string;
}

export interface CardSigner {
  readonly kid: string;
  readonly alg: string;
}

const MAX_SIGNATURES = 16;

/** The SHA-256 of what signatures are made over, in hex: it changes when the card does, apart from its signatures. */
export function cardHash(card: JsonObject): string {
  return hash('sha256', canonicalCard(card), 'hex');
}

/** Throws `forbidden` for a card that is not trusted, saying why. */
export async function assertTrustedCard(card: JsonObject, trust: CardTrust): Promise<void> {
  const found = cardHash(card);
  if (trust.hash !== undefined && trust.hash.toLowerCase() !== found) {
    throw new LangoError('forbidden', `The card is not the one that was accepted: its hash is ${found}.`, {
      hint: 'Look at it with "lango card URL --verify"; to accept it, set verify.hash to this hash.',
    });
  }
  if (trust.findKey) await verifyCard(card, trust.findKey);
}

/**
 * Resolves with who signed the card, as it was received: nothing of it is read into types before. One good signature
 * is enough, so that keys can be rotated. Rejects with `forbidden`.
 */
export async function verifyCard(card: JsonObject, findKey: FindKey): Promise<CardSigner> {
  const signatures = Array.isArray(card['signatures']) ? (card['signatures'] as readonly unknown[]) : [];
  if (signatures.length === 0) throw new LangoError('forbidden', 'The card is not signed.');
  const payload = Buffer.from(canonicalCard(card)).toString('base64url');
  const reasons: string[] = [];
  for (const signature of signatures.slice(0, MAX_SIGNATURES)) {
    try {
      return await verifyOne(signature, payload, findKey);
    } catch (error) {
      reasons.push(whyOf(error));
    }
  }
  throw new LangoError(
    'forbidden',
    `No signature of the card can be verified: ${[...new Set(reasons)].join('; ')}.`,
  );
}

/** Where there are no keys, why there are none. */
function whyOf(error: unknown): string {
  const isWithoutKeys = error instanceof LangoError && error.code === 'unavailable';
  return errorText(isWithoutKeys ? error.cause : error).replace(/\.$/, '');
}

/** The unprotected header says nothing that counts, so it is left out. */
async function verifyOne(signature: unknown, payload: string, findKey: FindKey): Promise<CardSigner> {
  if (!isJsonObject(signature)) throw new Error('a signature is not an object');
  const { protected: head, signature: value } = signature;
  if (typeof head !== 'string' || typeof value !== 'string') throw new Error('a signature is incomplete');
  const { flattenedVerify } = await import('jose');
  const { protectedHeader } = await flattenedVerify(
    { protected: head, payload, signature: value },
    findNamed(findKey),
    {
      algorithms: [...SIGNATURE_ALGORITHMS],
    },
  );
  return { kid: String(protectedHeader?.kid), alg: String(protectedHeader?.alg) };
}

/** Which key it is has to stand in the signature: trying them all would accept what nobody meant. */
function findNamed(findKey: FindKey): FindKey {
  return (header, token) => {
    if (!header.kid) return Promise.reject(new Error('a signature names no key'));
    return findKey(header, token);
  };
}
