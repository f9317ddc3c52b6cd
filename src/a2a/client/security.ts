import type { AgentCard, SecurityScheme } from '@a2a-js/sdk';
import { label } from './card.js';
import type { CredentialKind } from './credential.js';

export interface SecurityNote {
  readonly reason: string;
  readonly hint: string;
}

const HINT = 'Set auth in its entry of a2a.remoteAgents.';

/**
 * Says what the card asks for when its entry has nothing that fits; undefined when something fits. Nothing is ever sent
 * to an address that a card names: the entry says where tokens come from.
 */
export function securityNote(card: AgentCard, kinds: readonly CredentialKind[]): SecurityNote | undefined {
  const { securitySchemes, securityRequirements } = card;
  const alternatives = securityRequirements.map(({ schemes }) =>
    Object.entries(schemes).map(([name, scopes]) => {
      const scheme = Object.hasOwn(securitySchemes, name) ? securitySchemes[name]?.scheme : undefined;
      return { scheme, scopes: scopes?.list ?? [] };
    }),
  );
  if (alternatives.length === 0) return undefined;
  const unmet = alternatives.map((needs) =>
    needs.filter((need) => !kinds.some((kind) => fits(kind, need.scheme, need.scopes))),
  );
  if (unmet.some(({ length }) => length === 0)) return undefined;
  const wanted = unmet.map((needs) => needs.map(describe).join(' and ')).join(', or ');
  const has = kinds.map(({ type }) => NAMES[type]).join(' and ') || 'no credential';
  const reason = `Its card asks for ${label(wanted)}; its entry has ${has}.`;
  return { reason, hint: HINT };
}

const NAMES: Readonly<Record<CredentialKind['type'], string>> = {
  bearer: 'a bearer token',
  basic: 'a user name and password',
  mtls: 'a client certificate',
  oauth2: 'OAuth2 client credentials',
  apiKey: 'an API key',
};

type Scheme = SecurityScheme['scheme'];

/** A kind of scheme that this version does not know fits anything: only a request can tell. */
function fits(kind: CredentialKind, scheme: Scheme, scopes: readonly string[]): boolean {
  switch (scheme?.$case) {
    case 'apiKeySecurityScheme': {
      if (kind.type !== 'apiKey' || scheme.value.location !== kind.in) return false;
      const { name } = scheme.value;
      return kind.in === 'query' ? name === kind.name : name.toLowerCase() === kind.name.toLowerCase();
    }
    case 'httpAuthSecurityScheme': {
      const wanted = scheme.value.scheme.toLowerCase();
      if (wanted === 'basic') return kind.type === 'basic';
      return wanted !== 'bearer' || kind.type === 'bearer' || kind.type === 'oauth2';
    }
    case 'oauth2SecurityScheme':
    case 'openIdConnectSecurityScheme':
      if (kind.type === 'bearer') return true;
      // Without configured scopes the issuer decides.
      return (
        kind.type === 'oauth2' &&
        (kind.scopes.length === 0 || scopes.every((scope) => kind.scopes.includes(scope)))
      );
    case 'mtlsSecurityScheme':
      return kind.type === 'mtls';
    case undefined:
      return true;
  }
}

function describe({
  scheme,
  scopes,
}: {
  readonly scheme: Scheme;
  readonly scopes: readonly string[];
}): string {
  const ofScopes = scopes.length === 0 ? '' : ` with the scopes ${scopes.join(' ')}`;
  switch (scheme?.$case) {
    case 'apiKeySecurityScheme':
      return `an API key in the ${scheme.value.location} ${scheme.value.name}`;
    case 'httpAuthSecurityScheme':
      return `HTTP ${scheme.value.scheme} authentication`;
    case 'oauth2SecurityScheme':
      return `OAuth2${ofScopes}`;
    case 'openIdConnectSecurityScheme':
      return `a token of an OpenID issuer${ofScopes}`;
    case 'mtlsSecurityScheme':
      return 'a client certificate';
    case undefined:
      return 'a scheme that it does not declare';
  }
}
