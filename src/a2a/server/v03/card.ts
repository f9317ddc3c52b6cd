import { mapMembers, objectIn, objectsIn, type Json, type JsonObject } from '../../../core/json.js';

/** Cards of 0.3 name the version with its patch digit. */
const VERSION = '0.3.0';

/** The two notations of security schemes in 0.3: its JSON schema, and its proto, which writes them as 1.0 does. */
export type SecurityNotation = 'schema' | 'proto';

/**
 * Translates a card of 1.0 to 0.3, which has one main address with its transport, and a list of further ones. Returns
 * undefined when the agent does not support 0.3. Leaves out the signatures: they cover the bytes of 1.0.
 */
export function toOldCard(json: JsonObject, notation: SecurityNotation = 'schema'): JsonObject | undefined {
  const interfaces = objectsIn(json['supportedInterfaces'])
    .filter(({ protocolVersion }) => protocolVersion === '0.3')
    .map(({ url, protocolBinding }) => ({ url, transport: protocolBinding }));
  const [main] = interfaces;
  if (!main) return undefined;
  const { supportedInterfaces: _new, signatures: _signed, ...rest } = json;
  const { securityRequirements, capabilities, securitySchemes, skills, ...same } = rest;
  const { extendedAgentCard, ...abilities } = objectIn(capabilities);
  const isSchema = notation === 'schema';
  const requirements = (needed: Json): Json => (isSchema ? toOldRequirements(needed) : needed);
  const schemes = (given: Json): Json =>
    isSchema ? mapMembers(objectIn(given), (scheme) => toOldScheme(objectIn(scheme))) : given;
  return {
    ...same,
    protocolVersion: VERSION,
    url: main.url,
    preferredTransport: main.transport,
    additionalInterfaces: interfaces,
    capabilities: abilities,
    skills: objectsIn(skills).map(({ securityRequirements: needed, ...skill }) => ({
      ...skill,
      ...(needed !== undefined && { security: requirements(needed) }),
    })),
    ...(extendedAgentCard !== undefined && { supportsAuthenticatedExtendedCard: extendedAgentCard }),
    ...(securitySchemes !== undefined && { securitySchemes: schemes(securitySchemes) }),
    ...(securityRequirements !== undefined && { security: requirements(securityRequirements) }),
  };
}

/**
 * Makes a card that clients of either version can read, for a client that names no version. `withoutRequirements`: the
 * security requirements are in the notation of 0.3 alone, for Go's SDK, whose parser refuses the card with those of 1.0.
 */
export function toCardOfBoth(json: JsonObject, old: JsonObject, withoutRequirements = false): JsonObject {
  const oldSchemes = objectIn(old['securitySchemes']);
  const securitySchemes = mapMembers(objectIn(json['securitySchemes']), (scheme, name) => {
    const { flows } = objectIn(objectIn(scheme)['oauth2SecurityScheme']);
    // Python's SDK reads the flows of 0.3 and verifies the signature over those of 1.0.
    return { ...objectIn(oldSchemes[name]), ...(flows !== undefined && { flows }), ...objectIn(scheme) };
  });
  const both = Object.keys(securitySchemes).length > 0 && { securitySchemes };
  const oldSkills = objectsIn(old['skills']);
  const skills = objectsIn(json['skills']).map((skill, index) => ({ ...oldSkills[index], ...skill }));
  const card = { ...old, ...json, ...both, skills };
  return withoutRequirements ? withoutNewRequirements(card) : card;
}

function withoutNewRequirements({ securityRequirements: _new, ...card }: JsonObject): JsonObject {
  return { ...card, skills: objectsIn(card['skills']).map(({ securityRequirements: _, ...skill }) => skill) };
}

/** 1.0 names the kind of a scheme by the member that holds it, 0.3 by a type. */
const SCHEME_TYPES: Readonly<Record<string, string>> = {
  apiKeySecurityScheme: 'apiKey',
  oauth2SecurityScheme: 'oauth2',
  openIdConnectSecurityScheme: 'openIdConnect',
  mtlsSecurityScheme: 'mutualTLS',
};

function toOldScheme(scheme: JsonObject): JsonObject {
  const [kind = '', value] = Object.entries(scheme)[0] ?? [];
  const { location, flows, ...rest } = objectIn(value);
  const { deviceCode: _unknown, ...known } = objectIn(flows);
  return {
    type: SCHEME_TYPES[kind] ?? 'http',
    ...(location !== undefined && { in: location }),
    ...(flows !== undefined && { flows: known }),
    ...rest,
  };
}

function toOldRequirements(requirements: Json): Json {
  return objectsIn(requirements).map(({ schemes }) =>
    mapMembers(objectIn(schemes), (scopes) => objectIn(scopes)['list'] ?? []),
  );
}
