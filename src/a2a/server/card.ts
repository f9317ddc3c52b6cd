import { AgentCard, SecurityScheme, type AgentExtension, type AgentInterface } from '@a2a-js/sdk';
import type { AgentProfile, Skill } from '../../core/agent.js';
import type { CardFile } from '../../core/card.js';
import type { JsonObject } from '../../core/json.js';
import { EXTENSIONS, GENERATION, GRPC_TLS } from '../../core/extensions.js';
import { nodeParams, type NodeMark } from '../translate/extensions.js';

const DEFAULT_MODES = ['text/plain', 'application/json'];
/** Addresses that a server can bind to but no client can call. */
const BIND_ADDRESSES: readonly string[] = ['0.0.0.0', '[::]'];

const EXTENSION_TEXTS: Readonly<Record<keyof typeof EXTENSIONS, string>> = {
  author: 'Names the author of an event, message or artifact, and the activity of that agent.',
  cursor:
    'Numbers all events. A subscription with Last-Event-ID replays the later ones, also of an ended task.',
  chain: 'Carries the chain of delegations with the remaining depth, time and tokens.',
  approval: 'Carries questions to a person and their replies as data parts.',
  usage: 'Reports the tokens of the task and its sub-tasks on the final status.',
};

const DECLARED: readonly AgentExtension[] = [
  ...Object.entries(EXTENSION_TEXTS).map(([name, description]) =>
    declared(EXTENSIONS[name as keyof typeof EXTENSIONS], description),
  ),
  declared(GENERATION, 'Numbers tasks and events by `generation`, as the draft of A2A 1.1 does.'),
];
/** Says that gRPC uses TLS. The address cannot say it: stock clients accept host:port only. */
const GRPC_TLS_DECLARED = declared(GRPC_TLS, 'The gRPC interfaces of this card use TLS.');

function declared(uri: string, description: string): AgentExtension {
  return { uri, description, required: false, params: undefined };
}

export interface CardParts {
  /** The reviewed card file of the agent. Undefined: description and modes come from the profile and the defaults. */
  readonly file: CardFile | undefined;
  readonly profile: AgentProfile;
  /** The version of an agent that says none. */
  readonly version: string;
  /** The address under which clients reach this node. */
  readonly baseUrl: string;
  /** Host and port of the gRPC binding; undefined without one. */
  readonly grpc?: string | undefined;
  readonly isGrpcSecure?: boolean;
  /** Whether the agent is at the root of the host. */
  readonly isRoot?: boolean;
  /** The authentication of callers. The card declares exactly what is enforced. */
  readonly auth: CardAuth;
  readonly push?: boolean;
  /** The node in the rows of bills, by its id and the name that its operator gave it. */
  readonly node?: NodeMark;
}

/** Builds the public card of an agent. Equal parts give equal bytes. */
export function buildCard(parts: CardParts): AgentCard {
  const { file, profile, version, auth, push = false } = parts;
  const { securitySchemes, securityRequirements, ofSkill } = cardSecurity(auth);
  const { provider, documentationUrl, iconUrl, ...said } = { ...file, ...profile.card };
  return {
    name: profile.name,
    description: file?.description ?? profile.description,
    version: said.version ?? version,
    supportedInterfaces: interfacesOf(parts),
    provider: provider && { ...provider, url: provider.url ?? publicBase(parts.baseUrl) },
    ...{ documentationUrl, iconUrl },
    capabilities: {
      streaming: true,
      pushNotifications: push,
      // Without authentication every caller sees the same card.
      ...(auth === 'none' ? {} : { extendedAgentCard: true }),
      extensions: [
        ...declaredBy(parts),
        ...(parts.grpc !== undefined && parts.isGrpcSecure ? [GRPC_TLS_DECLARED] : []),
      ],
    },
    ...{ securitySchemes, securityRequirements },
    defaultInputModes: [...inputModesOf(parts)],
    defaultOutputModes: [...(file?.defaultOutputModes ?? DEFAULT_MODES)],
    skills: uniqueById(profile.skills).map(({ tags, examples, ...skill }) => ({
      ...{ id: skill.id, name: skill.name, description: skill.description },
      ...{ tags: [...tags], examples: [...examples], inputModes: [], outputModes: [] },
      securityRequirements: ofSkill(skill.id),
    })),
    signatures: [],
  };
}

/** Readers of a bill find the name of its nodes with the extension that carries their ids. */
function declaredBy({ node }: CardParts): readonly AgentExtension[] {
  if (!node) return DECLARED;
  return DECLARED.map((one) => (one.uri === EXTENSIONS.usage ? { ...one, params: nodeParams(node) } : one));
}

/** The modes of the card file, without images when the agent's model reads none. */
function inputModesOf({ file, profile }: CardParts): readonly string[] {
  const own = profile.inputModes ?? DEFAULT_MODES;
  if (!file || !profile.inputModes) return file?.defaultInputModes ?? own;
  return file.defaultInputModes.filter((mode) => !mode.startsWith('image/') || own.includes(mode));
}

/** Builds the card for authenticated callers: the public card with further skills. */
export function buildExtendedCard(parts: CardParts): AgentCard {
  const { profile } = parts;
  const skills = [...profile.skills, ...(profile.extendedSkills?.() ?? [])];
  return buildCard({ ...parts, profile: { ...profile, skills } });
}

/** Converts a card to ProtoJSON, and keeps required fields that are empty. */
export function cardJson(card: AgentCard): JsonObject {
  const json = AgentCard.toJSON(card) as JsonObject & { readonly skills?: readonly JsonObject[] };
  return { ...json, skills: (json.skills ?? []).map((skill) => ({ tags: [], ...skill })) };
}

export function agentUrl(baseUrl: string, name: string): string {
  return `${publicBase(baseUrl)}/agents/${name}`;
}

export function grpcAddress(baseUrl: string, port: number): string {
  return `${new URL(publicBase(baseUrl)).hostname}:${port}`;
}

function publicBase(baseUrl: string): string {
  const url = new URL(baseUrl);
  if (BIND_ADDRESSES.includes(url.hostname)) url.hostname = 'localhost';
  return url.href.replace(/\/+$/, '');
}

/** Keeps the first skill of each id. */
function uniqueById(skills: readonly Skill[]): readonly Skill[] {
  return skills.filter(({ id }, index) => skills.findIndex((other) => other.id === id) === index);
}

/** A flow of OAuth 2.0 by which a client gets a token of the issuer, without its scopes. */
export interface LoginFlow {
  readonly name: 'authorizationCode' | 'clientCredentials' | 'deviceCode';
  readonly members: JsonObject;
}

/** The authentication of callers, as far as clients need to know. */
export type CardAuth =
  | 'token'
  | 'mtls'
  | 'none'
  | {
      /** The discovery document of the issuer; undefined when the issuer publishes none. */
      readonly openIdConnectUrl: string | undefined;
      /** The flows that the issuer offers, as far as its metadata was read. */
      readonly flows: readonly LoginFlow[];
      /** The audiences that a token may be for. */
      readonly audience: readonly string[];
      /** The scopes that every call to the agent needs. */
      readonly scopes: readonly string[];
      /** The further scopes of single skills, by skill id. */
      readonly skillScopes: ReadonlyMap<string, string>;
    };

/** The security fields of a card. They declare exactly what is enforced. A skill without its own has those of the agent. */
function cardSecurity(auth: CardAuth) {
  if (auth === 'none') return { securitySchemes: {}, securityRequirements: [], ofSkill: () => [] };
  const schemes = [schemeOf(auth), ...(typeof auth === 'string' ? [] : flowSchemes(auth))];
  const { scopes, skillScopes } = typeof auth === 'string' ? NO_SCOPES : auth;
  const anyOf = (needed: readonly string[]) =>
    schemes.map(([name]) => ({ schemes: { [name]: { list: [...needed] } } }));
  return {
    securitySchemes: Object.fromEntries(
      schemes.map(([name, scheme]) => [name, SecurityScheme.fromJSON(scheme)]),
    ),
    securityRequirements: anyOf(scopes),
    ofSkill: (skillId: string) => {
      const scope = skillScopes.get(skillId);
      return scope === undefined ? [] : anyOf([...new Set([...scopes, scope])]);
    },
  };
}

/** Makes a scheme for each flow, since a scheme of A2A holds a single flow. */
function flowSchemes({ flows, scopes, skillScopes, audience }: Exclude<CardAuth, string>) {
  const ofAgent = scopes.map((scope) => [scope, 'Use the agent.']);
  const ofSkills = [...skillScopes].map(([skill, scope]) => [scope, `Use the skill ${skill}.`]);
  const described = Object.fromEntries([...ofAgent, ...ofSkills]) as Record<string, string>;
  const description = `A token for the audience ${audience.join(' or ')}, sent as a bearer token.`;
  return flows.map(({ name, members }): readonly [string, JsonObject] => {
    const flow = { ...members, scopes: described };
    return [FLOW_SCHEMES[name], { oauth2SecurityScheme: { description, flows: { [name]: flow } } }];
  });
}

const FLOW_SCHEMES: Readonly<Record<LoginFlow['name'], string>> = {
  authorizationCode: 'oauth2Code',
  clientCredentials: 'oauth2Client',
  deviceCode: 'oauth2Device',
};

const NO_SCOPES = { scopes: [], skillScopes: new Map<string, string>() };

/** Returns the main security scheme: its name on the card, and its ProtoJSON. */
function schemeOf(auth: Exclude<CardAuth, 'none'>): readonly [string, JsonObject] {
  if (auth === 'token')
    return [
      'bearer',
      { httpAuthSecurityScheme: { scheme: 'Bearer', description: 'The token of this node.' } },
    ];
  if (auth === 'mtls')
    return ['mtls', { mtlsSecurityScheme: { description: 'A client certificate that this node trusts.' } }];
  const { openIdConnectUrl } = auth;
  if (openIdConnectUrl !== undefined) {
    const description = 'A token of this issuer, sent as a bearer token.';
    return ['openIdConnect', { openIdConnectSecurityScheme: { openIdConnectUrl, description } }];
  }
  const description = 'A signed token of the issuer that this node trusts.';
  return ['jwt', { httpAuthSecurityScheme: { scheme: 'Bearer', bearerFormat: 'JWT', description } }];
}

/**
 * The interfaces of an agent, best first. All agents share the gRPC port, so the interface names its agent as the tenant.
 * A2A 0.3 has no tenants, so its gRPC interface reaches the root agent only.
 */
function interfacesOf({ profile: { name }, baseUrl, grpc, isRoot = false }: CardParts): AgentInterface[] {
  const url = agentUrl(baseUrl, name);
  return [
    agentInterface(url, 'JSONRPC', '1.0'),
    agentInterface(url, 'HTTP+JSON', '1.0'),
    ...(grpc === undefined ? [] : [{ ...agentInterface(grpc, 'GRPC', '1.0'), tenant: name }]),
    agentInterface(url, 'JSONRPC', '0.3'),
    agentInterface(url, 'HTTP+JSON', '0.3'),
    ...(grpc === undefined || !isRoot ? [] : [agentInterface(grpc, 'GRPC', '0.3')]),
  ];
}

function agentInterface(url: string, protocolBinding: string, protocolVersion: string): AgentInterface {
  return { url, protocolBinding, protocolVersion, tenant: '' };
}
