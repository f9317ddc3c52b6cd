import type { Skill } from './agent.js';

/** Where an agent's card is (RFC 8615), below the agent's own path. */
export const CARD_PATH = '/.well-known/agent-card.json';
/** Where peers of before 0.3, and some of 0.3, look. */
export const OLD_CARD_PATH = '/.well-known/agent.json';
/** Where a server lists the cards of all its agents. */
export const CATALOG_PATH = '/.well-known/ai-catalog.json';
/** What an entry of the catalog is, when it is a card. */
export const CARD_TYPE = 'application/a2a-agent-card+json';
/** Where a server publishes the keys that it signs with (RFC 7517). */
export const KEYS_PATH = '/.well-known/jwks.json';

/** What is fixed about a published agent: one file in agent-cards/. The rest is filled in from the running system. */
export interface CardFile {
  readonly name: string;
  readonly description: string;
  readonly provider?: { readonly organization: string; readonly url: string };
  readonly iconUrl?: string;
  readonly documentationUrl?: string;
  readonly defaultInputModes: readonly string[];
  readonly defaultOutputModes: readonly string[];
  /** Skills the agent has whatever its tools are. */
  readonly skills: readonly Skill[];
}
