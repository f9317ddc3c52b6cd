import { canonicalJson } from '../../core/canonical-json.js';
import { defined, isJsonObject, mapMembers, objectIn, type Json, type JsonObject } from '../../core/json.js';

/**
 * The presence rule of a member in the canonical form. `always`: required, kept even when empty. `set`: kept when it was
 * set, to any value. `filled`: kept unless it has its default value.
 */
interface Member {
  readonly keep: 'always' | 'set' | 'filled';
  /** The default value; members with presence have none. */
  readonly empty?: '' | false | readonly never[] | Readonly<Record<string, never>>;
  /** The shape of the member, of each item of a list, or of each value of a map. */
  readonly of?: Shape;
}

type Shape = Readonly<Record<string, Member>>;

const requiredText: Member = { keep: 'always', empty: '' };
const text: Member = { keep: 'filled', empty: '' };
const flag: Member = { keep: 'filled', empty: false };
const texts: Member = { keep: 'filled', empty: [] };
const requiredTexts: Member = { keep: 'always', empty: [] };
const given: Member = { keep: 'set' };
const requiredMap: Member = { keep: 'always', empty: {} };
const one = (of: Shape): Member => ({ keep: 'set', of });
const many = (of: Shape): Member => ({ keep: 'filled', empty: [], of });
const atLeastOne = (of: Shape): Member => ({ keep: 'always', empty: [], of });
const map = (of: Shape): Member => ({ keep: 'filled', empty: {}, of });

const REQUIREMENTS: Member = many({ schemes: map({ list: texts }) });
const TOKEN_FLOW: Shape = { tokenUrl: requiredText, refreshUrl: text, scopes: requiredMap };
const OLD_FLOW: Shape = { authorizationUrl: text, tokenUrl: text, refreshUrl: text, scopes: map({}) };

/** The messages of an agent card (A2A 1.0 section 4.4), with their fields' behavior. */
const CARD: Shape = {
  name: requiredText,
  description: requiredText,
  supportedInterfaces: atLeastOne({
    url: requiredText,
    protocolBinding: requiredText,
    tenant: text,
    protocolVersion: requiredText,
  }),
  provider: one({ url: requiredText, organization: requiredText }),
  version: requiredText,
  documentationUrl: given,
  capabilities: one({
    streaming: given,
    pushNotifications: given,
    extendedAgentCard: given,
    extensions: many({ uri: text, description: text, required: flag, params: given }),
  }),
  securitySchemes: map({
    apiKeySecurityScheme: one({ description: text, location: requiredText, name: requiredText }),
    httpAuthSecurityScheme: one({ description: text, scheme: requiredText, bearerFormat: text }),
    oauth2SecurityScheme: one({
      description: text,
      oauth2MetadataUrl: text,
      flows: one({
        authorizationCode: one({ ...TOKEN_FLOW, authorizationUrl: requiredText, pkceRequired: flag }),
        clientCredentials: one(TOKEN_FLOW),
        deviceCode: one({ ...TOKEN_FLOW, deviceAuthorizationUrl: requiredText }),
        implicit: one(OLD_FLOW),
        password: one(OLD_FLOW),
      }),
    }),
    openIdConnectSecurityScheme: one({ description: text, openIdConnectUrl: requiredText }),
    mtlsSecurityScheme: one({ description: text }),
  }),
  securityRequirements: REQUIREMENTS,
  defaultInputModes: requiredTexts,
  defaultOutputModes: requiredTexts,
  skills: atLeastOne({
    id: requiredText,
    name: requiredText,
    description: requiredText,
    tags: requiredTexts,
    examples: texts,
    inputModes: texts,
    outputModes: texts,
    securityRequirements: REQUIREMENTS,
  }),
  iconUrl: given,
};

/**
 * Computes the text that signatures of an agent card cover (A2A 1.0 section 8.4.1): the card as it was received, without
 * its signatures, by the presence rules of protobuf and in the form of RFC 8785. Unknown members stay, so that none can
 * be added to a signed card. Throws `TypeError` for values that JSON cannot hold.
 */
export function canonicalCard(card: JsonObject): string {
  const { signatures: _, ...signed } = card;
  return canonicalJson(canonical(signed, CARD));
}

/**
 * Computes the texts that the official SDKs verify: the members of A2A 1.0 only, without any empty text, list or object.
 * The second is that of the SDK for JavaScript when it has read the card itself: its verifier then loses the security
 * schemes. Both cover less than `canonicalCard`: a security requirement without scopes is left out.
 */
export function sdkCanonicalCards({ signatures: _, ...card }: JsonObject): readonly string[] {
  const whole = objectIn(withoutEmpty(known(canonical(card, CARD), CARD)));
  const { securitySchemes: _lost, ...read } = whole;
  return [canonicalJson(whole), canonicalJson(read)];
}

/** Leaves out the members that the shape does not have. */
function known(value: JsonObject, shape: Shape): JsonObject {
  const own = Object.entries(value).filter(([name]) => Object.hasOwn(shape, name));
  return Object.fromEntries(own.map(([name, held]) => [name, within(held as Json, shape[name]!, known)]));
}

function withoutEmpty(value: Json): Json | undefined {
  if (value === '' || value === null) return undefined;
  if (typeof value !== 'object') return value;
  if (Array.isArray(value)) {
    const kept = (value as readonly Json[]).map(withoutEmpty).filter((item) => item !== undefined);
    return kept.length > 0 ? kept : undefined;
  }
  const kept = defined(mapMembers(value as JsonObject, (held = null) => withoutEmpty(held)));
  return Object.keys(kept).length > 0 ? kept : undefined;
}

function canonical(value: JsonObject, shape: Shape): JsonObject {
  const members: Record<string, Json> = {};
  for (const [name, { keep, empty }] of Object.entries(shape))
    if (keep === 'always' && empty !== undefined) members[name] = empty;
  for (const [name, held] of Object.entries(value)) {
    const member = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (held === undefined || (member && held === null)) continue;
    const settled = member ? within(held, member, canonical) : held;
    if (member?.keep === 'filled' && isEmpty(settled)) continue;
    members[name] = settled;
  }
  return members;
}

/** Converts each message inside a member. */
function within(held: Json, { of, empty }: Member, convert: typeof canonical): Json {
  if (!of) return held;
  const inner = <Item>(item: Item) => (isJsonObject(item) ? convert(item, of) : item);
  if (Array.isArray(held)) return held.map((item: Json) => inner(item));
  if (!isJsonObject(held) || empty === undefined) return inner(held);
  return mapMembers(held, inner);
}

function isEmpty(value: Json): boolean {
  if (value === '' || value === false || value === 0) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isJsonObject(value) && Object.keys(value).length === 0;
}
