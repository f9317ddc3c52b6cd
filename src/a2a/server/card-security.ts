import type { AgentCard, SecurityRequirement, SecurityScheme } from '@a2a-js/sdk';

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
export interface CardSecurity extends Pick<AgentCard, 'securitySchemes' | 'securityRequirements'> {
  /** What a skill asks for; empty when that is no more than its agent does. */
  readonly ofSkill: (skillId: string) => SecurityRequirement[];
}

const NO_SKILL = (): SecurityRequirement[] => [];

export function cardSecurity(auth: CardAuth): CardSecurity {
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
