import { createHash } from 'node:crypto';
import type { AgentCard } from '@a2a-js/sdk';
import type { HttpExchange } from '../../core/http.js';
import { sendJson } from './answer.js';
import { agentUrl, cardJson } from './card.js';
import { namedVersion } from './http-call.js';
import { sendWrongMethod } from './rest.js';
import type { ProtocolVersion } from './service-parameters.js';
import { toCardOfBoth, toOldCard } from './v03/card.js';

const CARD_TYPE = 'application/json';
const CATALOG_TYPE = 'application/ai-catalog+json';
const CATALOG_ENTRY_TYPE = 'application/a2a-agent-card+json';
const CATALOG_VERSION = '1.0';
const MAX_AGE_SECONDS = 60;

export const CARD_PATH = '/.well-known/agent-card.json';
/** Where peers of before 0.3, and some of 0.3, look. */
export const OLD_CARD_PATH = '/.well-known/agent.json';
export const CATALOG_PATH = '/.well-known/ai-catalog.json';

/**
 * Serves a public card as the version asked for writes it. A client that does not say gets one that both versions can
 * read; at the old path there is the old card only.
 */
export function answerCard(exchange: HttpExchange, card: AgentCard, path: string): void {
  const json = cardJson(card);
  const old = toOldCard(json);
  const version = path === OLD_CARD_PATH ? '0.3' : askedVersion(exchange);
  if (!old || version === '1.0') answerDocument(exchange, CARD_TYPE, json);
  else answerDocument(exchange, CARD_TYPE, version === '0.3' ? old : toCardOfBoth(json, old));
}

/** A version that nobody speaks is no reason to hide which ones are spoken. */
function askedVersion(exchange: HttpExchange): ProtocolVersion | undefined {
  try {
    return namedVersion(exchange, ['1.0', '0.3']);
  } catch {
    return undefined;
  }
}

/** Serves the AI Catalog of a node: an entry for each card. */
export function answerCatalog(exchange: HttpExchange, baseUrl: string, cards: readonly AgentCard[]): void {
  const entries = cards.map((card) => {
    const url = agentUrl(baseUrl, card.name) + CARD_PATH;
    return {
      identifier: url,
      displayName: card.name,
      type: CATALOG_ENTRY_TYPE,
      url,
      description: card.description,
      version: card.version,
    };
  });
  answerDocument(exchange, CATALOG_TYPE, { specVersion: CATALOG_VERSION, entries });
}

/** Public, and cacheable by the hash of its bytes. */
export function answerDocument(exchange: HttpExchange, type: string, document: unknown): void {
  const { request, response } = exchange;
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    sendWrongMethod(exchange, ['GET', 'HEAD']);
    return;
  }
  const body = JSON.stringify(document);
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
  const headers = {
    ETag: etag,
    'Cache-Control': `public, max-age=${MAX_AGE_SECONDS}`,
    Vary: 'Host, A2A-Version',
  };
  if (isFresh(request.headers['if-none-match'], etag)) response.writeHead(304, headers).end();
  else sendJson(exchange, { status: 200, type, body, headers });
}

function isFresh(held: string | undefined, etag: string): boolean {
  const tags = (held ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes(etag) || tags.includes('*');
}
