import type { AgentCard, SecurityScheme } from '@a2a-js/sdk';
import { label } from './card.js';
import type { CredentialKind } from '../../core/credential.js';

/**
 * Returns a note with the credentials that the card requires, when the entry has none that fits; undefined when one fits.
 * No token is fetched from an address on a card: only the entry names issuers.
 */
export function securityNote(card: AgentCard, kinds: readonly CredentialKind[]) {
  const { securitySchemes, securityRequirements } = card;
  const alternatives = securityRequirements.map(({ schemes }) =>
    Object.entries(schemes).map(([name, scopes]) => {
      const scheme = Object.hasOwn(securitySchemes, name) ? securitySchemes[name]?.scheme : undefined;
      return { scheme, scopes: scopes?.list ?? [] };
    }),
  );
  if (alternatives.length === 0) return undefined;
  const unmet = alternatives.map((needs) =>
    needs.filter((need) => !kinds.some((kind) => satisfies(kind, need))),
  );
  if (unmet.some(({ length }) => length === 0)) return undefined;
  const wanted = unmet.map((needs) => needs.map(describe).join(' and ')).join(', or ');
  const has = kinds.map(({ type }) => NAMES[type]).join(' and ') || 'no credential';
  const reason = `Its card requires ${label(wanted)}; its entry in a2a.remoteAgents has ${has}.`;
  return { reason, hint: 'Set auth in its entry of a2a.remoteAgents.' };
}

const NAMES: Readonly<Record<CredentialKind['type'], string>> = {
  bearer: 'a bearer token',
  basic: 'a user name and password',
  mtls: 'a client certificate',
  oauth2: 'OAuth2 client credentials',
  apiKey: 'an API key',
};

interface Need {
  readonly scheme: SecurityScheme['scheme'];
  readonly scopes: readonly string[];
}

/** Whether a credential satisfies a scheme. An unknown kind of scheme counts as satisfied: only a request can tell. */
function satisfies(kind: CredentialKind, { scheme, scopes }: Need): boolean {
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
      if (kind.type !== 'oauth2') return kind.type === 'bearer';
      // Without configured scopes the issuer chooses them.
      return kind.scopes.length === 0 || scopes.every((scope) => kind.scopes.includes(scope));
    case 'mtlsSecurityScheme':
      return kind.type === 'mtls';
    case undefined:
      return true;
  }
}

function describe({ scheme, scopes }: Need): string {
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
