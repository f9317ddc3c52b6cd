import type {
  AgentExtension,
  AgentSkill,
  SecurityRequirement,
  SecurityScheme,
  AgentInterface,
} from '@a2a-js/sdk';
import { AgentCard } from '@a2a-js/sdk';
import type { AgentProfile, Skill } from '../../core/agent.js';
import type { CardFile } from '../../core/card.js';
import type { JsonObject } from '../../core/json.js';
import { EXTENSIONS } from '../translate/extensions.js';

const DEFAULT_MODES = ['text/plain', 'application/json'];
/** What a server binds to when it takes every address; nobody can call it. */
const BIND_ADDRESSES: readonly string[] = ['0.0.0.0', '[::]'];

const EXTENSION_TEXTS: Readonly<Record<keyof typeof EXTENSIONS, string>> = {
  author: 'Who wrote an event, message or artifact, and what that agent does.',
  cursor:
    'Numbered events; a subscription with Last-Event-ID replays every later one, also on an ended task.',
  chain: 'Who delegated to whom, and what of depth, time and tokens is left.',
  approval: 'Questions to a person and their answers, as data parts.',
  usage: 'Tokens of the task and of all tasks below it, on the closing status.',
};

export interface CardParts {
  /** What is fixed about the agent; without it the profile alone speaks. */
  readonly file: CardFile | undefined;
  readonly profile: AgentProfile;
  /** Of the agent. */
  readonly version: string;
  /** Scheme, host and port under which clients reach this node. */
  readonly baseUrl: string;
  /** Host and port of the gRPC binding; undefined without one. */
  readonly grpc?: string | undefined;
  /** Whether it is the agent that answers at the root of the host. */
  readonly isRoot?: boolean;
  /** How callers are told apart: declared exactly as it is enforced. */
  readonly auth: CardAuth;
  /** Whether news of tasks are sent to who asks for them. */
  readonly push?: boolean;
}

/** The public card of an agent. Equal parts give equal cards, to the byte. */
export function buildCard(parts: CardParts): AgentCard {
  const { file, profile, version, auth, push = false } = parts;
  const url = agentUrl(parts.baseUrl, profile.name);
  const security = cardSecurity(auth);
  return {
    name: profile.name,
    description: file?.description ?? profile.description,
    version,
    supportedInterfaces: interfacesOf({
      name: profile.name,
      url,
      grpc: parts.grpc,
      isRoot: parts.isRoot ?? false,
    }),
    provider: file?.provider && { url: publicBase(parts.baseUrl), ...file.provider },
    documentationUrl: file?.documentationUrl,
    iconUrl: file?.iconUrl,
    capabilities: {
      streaming: true,
      pushNotifications: push,
      // Without callers to tell apart there is nothing to show to some of them only.
      ...(auth === 'none' ? {} : { extendedAgentCard: true }),
      extensions: declaredExtensions(),
    },
    securitySchemes: security.securitySchemes,
    securityRequirements: security.securityRequirements,
    defaultInputModes: [...(file?.defaultInputModes ?? DEFAULT_MODES)],
    defaultOutputModes: [...(file?.defaultOutputModes ?? DEFAULT_MODES)],
    skills: uniqueById(profile.skills).map((skill) => toAgentSkill(skill, security)),
    signatures: [],
  };
}

/** The card for callers that are known: the public one, and what only they may see. */
export function buildExtendedCard(parts: CardParts): AgentCard {
  const { profile } = parts;
  const skills = [...profile.skills, ...(profile.extendedSkills?.() ?? [])];
  return buildCard({ ...parts, profile: { ...profile, skills } });
}

/** The card as it is served: ProtoJSON, with the required fields that are empty. */
export function cardJson(card: AgentCard): JsonObject {
  const json = AgentCard.toJSON(card) as JsonObject & { readonly skills?: readonly JsonObject[] };
  return { ...json, skills: (json.skills ?? []).map((skill) => ({ tags: [], ...skill })) };
}

/** Where an agent's interfaces are, under the address that clients use. */
export function agentUrl(baseUrl: string, name: string): string {
  return `${publicBase(baseUrl)}/agents/${name}`;
}

/** Where its gRPC binding is, under the same address. */
export function grpcAddress(baseUrl: string, port: number): string {
  return `${new URL(publicBase(baseUrl)).hostname}:${port}`;
}

function publicBase(baseUrl: string): string {
  const url = new URL(baseUrl);
  if (BIND_ADDRESSES.includes(url.hostname)) url.hostname = 'localhost';
  return url.href.replace(/\/+$/, '');
}

function declaredExtensions(): AgentExtension[] {
  return Object.entries(EXTENSION_TEXTS).map(([name, description]) => ({
    uri: EXTENSIONS[name as keyof typeof EXTENSIONS],
    description,
    required: false,
    params: undefined,
  }));
}

/** Keeps the first skill of each id. */
function uniqueById(skills: readonly Skill[]): readonly Skill[] {
  return skills.filter(({ id }, index) => skills.findIndex((other) => other.id === id) === index);
}

function toAgentSkill({ id, name, description, tags, examples }: Skill, security: CardSecurity): AgentSkill {
  return {
    id,
    name,
    description,
    tags: [...tags],
    examples: [...examples],
    inputModes: [],
    outputModes: [],
    securityRequirements: security.ofSkill(id),
  };
}

/** How callers are told apart, as far as clients have to know. */
export type CardAuth =
  | 'token'
  | 'mtls'
  | 'none'
  | {
      /** Where clients learn how to get a token; undefined when only its issuer can tell. */
      readonly openIdConnectUrl: string | undefined;
      /** What the whole agent asks for. */
      readonly scopes: readonly string[];
      /** What single skills ask for on top, by their id. */
      readonly skillScopes: ReadonlyMap<string, string>;
    };

/** The security of a card: exactly what is enforced. */
interface CardSecurity extends Pick<AgentCard, 'securitySchemes' | 'securityRequirements'> {
  /** What a skill asks for; empty when that is no more than its agent does. */
  readonly ofSkill: (skillId: string) => SecurityRequirement[];
}

const NO_SKILL = (): SecurityRequirement[] => [];

function cardSecurity(auth: CardAuth): CardSecurity {
  if (auth === 'none') return { securitySchemes: {}, securityRequirements: [], ofSkill: NO_SKILL };
  if (auth === 'token') return oneScheme('bearer', bearerScheme('', 'The token of this node.'));
  if (auth === 'mtls') {
    return oneScheme('mtls', {
      scheme: {
        $case: 'mtlsSecurityScheme',
        value: { description: 'A client certificate that this node trusts.' },
      },
    });
  }
  const { openIdConnectUrl, scopes, skillScopes } = auth;
  const name = openIdConnectUrl === undefined ? 'jwt' : 'openIdConnect';
  const scheme =
    openIdConnectUrl === undefined
      ? bearerScheme('JWT', 'A signed token of the issuer that this node trusts.')
      : openIdScheme(openIdConnectUrl);
  return {
    ...oneScheme(name, scheme, scopes),
    ofSkill: (skillId) => {
      const scope = skillScopes.get(skillId);
      return scope === undefined ? [] : [requirement(name, [...new Set([...scopes, scope])])];
    },
  };
}

function oneScheme(name: string, scheme: SecurityScheme, scopes: readonly string[] = []): CardSecurity {
  return {
    securitySchemes: { [name]: scheme },
    securityRequirements: [requirement(name, scopes)],
    ofSkill: NO_SKILL,
  };
}

function requirement(name: string, scopes: readonly string[]): SecurityRequirement {
  return { schemes: { [name]: { list: [...scopes] } } };
}

function bearerScheme(bearerFormat: string, description: string): SecurityScheme {
  return {
    scheme: { $case: 'httpAuthSecurityScheme', value: { scheme: 'Bearer', bearerFormat, description } },
  };
}

function openIdScheme(openIdConnectUrl: string): SecurityScheme {
  const description = 'A token of this issuer, sent as a bearer token.';
  return { scheme: { $case: 'openIdConnectSecurityScheme', value: { openIdConnectUrl, description } } };
}

interface InterfaceFacts {
  /** Of the agent. */
  readonly name: string;
  /** Of its HTTP bindings. */
  readonly url: string;
  /** Host and port of the gRPC binding; undefined without one. */
  readonly grpc: string | undefined;
  /** Whether it is the root agent. */
  readonly isRoot: boolean;
}

/**
 * The ways to an agent, best first. All agents share the gRPC port, so that interface names its agent as the tenant;
 * 0.3 has no word for that, so over gRPC it reaches the root agent only.
 */
function interfacesOf({ name, url, grpc, isRoot }: InterfaceFacts): AgentInterface[] {
  return [
    at(url, 'JSONRPC', '1.0'),
    at(url, 'HTTP+JSON', '1.0'),
    ...(grpc === undefined ? [] : [{ ...at(grpc, 'GRPC', '1.0'), tenant: name }]),
    at(url, 'JSONRPC', '0.3'),
    at(url, 'HTTP+JSON', '0.3'),
    ...(grpc === undefined || !isRoot ? [] : [at(grpc, 'GRPC', '0.3')]),
  ];
}

function at(url: string, protocolBinding: string, protocolVersion: string): AgentInterface {
  return { url, protocolBinding, protocolVersion, tenant: '' };
}
