import type { Json, JsonObject } from '../../../core/json.js';
import { mapMembers, objectOf, objects } from '../../translate/unchecked.js';

/** Cards of 0.3 name the version with its patch digit. */
const VERSION = '0.3.0';

/** The two notations of security schemes in 0.3: its JSON schema, and its proto, which writes them as 1.0 does. */
export type SecurityNotation = 'schema' | 'proto';

/**
 * Translates a card of 1.0 to 0.3, which has one main address with its transport, and a list of further ones. Returns
 * undefined when the agent does not support 0.3. Leaves out the signatures: they cover the bytes of 1.0.
 */
export function toOldCard(json: JsonObject, notation: SecurityNotation = 'schema'): JsonObject | undefined {
  const interfaces = objects(json['supportedInterfaces'])
    .filter(({ protocolVersion }) => protocolVersion === '0.3')
    .map(({ url, protocolBinding }) => ({ url, transport: protocolBinding }));
  const [main] = interfaces;
  if (!main) return undefined;
  const { supportedInterfaces: _new, signatures: _signed, ...rest } = json;
  const { securityRequirements, capabilities, securitySchemes, skills, ...same } = rest;
  const { extendedAgentCard, ...abilities } = objectOf(capabilities);
  const isSchema = notation === 'schema';
  const requirements = (needed: Json): Json => (isSchema ? toOldRequirements(needed) : needed);
  const schemes = (given: Json): Json =>
    isSchema ? mapMembers(objectOf(given), (scheme) => toOldScheme(objectOf(scheme))) : given;
  return {
    ...same,
    protocolVersion: VERSION,
    url: main.url,
    preferredTransport: main.transport,
    additionalInterfaces: interfaces,
    capabilities: abilities,
    skills: objects(skills).map(({ securityRequirements: needed, ...skill }) => ({
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
  const oldSchemes = objectOf(old['securitySchemes']);
  const securitySchemes = mapMembers(objectOf(json['securitySchemes']), (scheme, name) => {
    const { flows } = objectOf(objectOf(scheme)['oauth2SecurityScheme']);
    // Python's SDK reads the flows of 0.3 and verifies the signature over those of 1.0.
    return { ...objectOf(oldSchemes[name]), ...(flows !== undefined && { flows }), ...objectOf(scheme) };
  });
  const both = Object.keys(securitySchemes).length > 0 && { securitySchemes };
  const oldSkills = objects(old['skills']);
  const skills = objects(json['skills']).map((skill, index) => ({ ...oldSkills[index], ...skill }));
  const card = { ...old, ...json, ...both, skills };
  return withoutRequirements ? withoutNewRequirements(card) : card;
}

function withoutNewRequirements({ securityRequirements: _new, ...card }: JsonObject): JsonObject {
  return { ...card, skills: objects(card['skills']).map(({ securityRequirements: _, ...skill }) => skill) };
}

/** 1.0 names the kind of a scheme by the member that holds it, 0.3 by a type. */
function toOldScheme(scheme: JsonObject): JsonObject {
  const [kind = '', value] = Object.entries(scheme)[0] ?? [];
  const { location, flows, ...rest } = objectOf(value);
  switch (kind) {
    case 'apiKeySecurityScheme':
      return { type: 'apiKey', in: location, ...rest };
    case 'oauth2SecurityScheme': {
      const { deviceCode: _unknown, ...known } = objectOf(flows);
      return { type: 'oauth2', flows: known, ...rest };
    }
    case 'openIdConnectSecurityScheme':
      return { type: 'openIdConnect', ...rest };
    case 'mtlsSecurityScheme':
      return { type: 'mutualTLS', ...rest };
    default:
      return { type: 'http', ...rest };
  }
}

function toOldRequirements(requirements: Json): Json {
  return objects(requirements).map(({ schemes }) =>
    mapMembers(objectOf(schemes), (scopes) => objectOf(scopes)['list'] ?? []),
  );
}
