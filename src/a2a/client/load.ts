import { hashJson } from '../../core/canonical-json.js';
import { AgentCard } from '@a2a-js/sdk';
import type { AgentProfile, Peer } from '../../core/agent.js';
import { LangoError, errorText } from '../../core/errors.js';
import type { Caller } from '../../core/identity.js';
import { defined, type JsonObject } from '../../core/json.js';
import { shorten } from '../../core/text.js';
import { fromWireError } from '../translate/errors.js';
import { GRPC_TLS } from '../../core/extensions.js';
import type { LocalAgent } from '../translate/task-calls.js';
import type { CardTrust, HeldCards } from './card.js';
import {
  UntrustedCard,
  assertTrustedCard,
  assertReachable,
  fetchCard,
  parseCard,
  relocated,
  toProfile,
} from './card.js';
import { tokenCredential, type PeerCredential } from '../../core/credential.js';
import type { GrpcRules } from './grpc-transport.js';
import { CLIENT_LIMITS, REMOTE_LIMITS, type WatchLimits } from './limits.js';
import type { Binding, Link, WireLink } from './link.js';
import { createLink, createRemoteTransport, MovingLink, withMaskedErrors } from './link.js';
import { createOriginFetch } from '../../core/origin-fetch.js';
import { Deadline } from '../../core/time.js';
import { createPeer } from './peer.js';
import { securityNote } from './security.js';
import { DEFAULT_RETRY, type RetryRules } from './watch.js';
import type { CredentialFor } from './wire-tasks.js';

export type CardSource = LocalSource | RemoteSource;

interface LocalSource {
  readonly kind: 'local';
  readonly name: string;
  readonly handler: LocalAgent;
}

export interface RemoteSource {
  readonly kind: 'remote';
  /** The local name of the agent. Default: made from the name on its card. */
  readonly name?: string;
  /** The purpose of the agent, in the words of the configuration. */
  readonly description?: string | undefined;
  /** The address of the card, the agent, or its host. */
  readonly url: string;
  /** The bearer token, in place of `credential`. */
  readonly token?: string;
  /** The credential of each request to the origin of `url`. */
  readonly credential?: PeerCredential | undefined;
  /** Makes the token of a request on behalf of a caller, which replaces any other `Authorization`. */
  readonly credentialFor?: CredentialFor | undefined;
  /** Sends requests to its server on behalf of a caller; undefined for a server that must not learn the caller. */
  readonly fetchAs?: ((caller: Caller) => Promise<typeof fetch>) | undefined;
  /** The conditions for trusting the card. Default: any card from that origin is trusted. */
  readonly trust?: CardTrust | undefined;
  /** The connection to this agent. Default: as in `OpenOptions`. */
  readonly connect?: Pick<OpenOptions, 'fetch' | 'grpc' | 'relocate'> | undefined;
  /** The configuration that the source was made from: a directory keeps the source when a new one has equal settings. */
  readonly settings?: unknown;
}

export interface LoadOptions extends OpenOptions {
  readonly retry?: Partial<RetryRules>;
  /** The limits for a task of a remote agent. Default: `REMOTE_LIMITS`. */
  readonly limits?: Partial<WatchLimits>;
}

export interface OpenOptions {
  readonly fetch: typeof fetch;
  /** The rules for gRPC connections. Without them gRPC is not used. */
  readonly grpc?: GrpcRules;
  /** The only binding to use. Default: the first interface of the card that we support, HTTP before gRPC. */
  readonly binding?: Binding | undefined;
  /** The time limit for loading one card. */
  readonly timeoutMs?: number;
  /** Ends every loading of a card. */
  readonly signal?: AbortSignal;
  readonly cardBytes?: number;
  /**
   * Calls the agent at the origin where its card was found, for a server behind a published port or a tunnel. Otherwise
   * a card that names another origin is refused.
   */
  readonly relocate?: boolean;
}

export interface LoadedAgent extends Omit<OpenAgent, 'card' | 'link'> {
  readonly peer: Peer;
  readonly link: MovingLink;
  /** Changes when the card does, apart from its signatures. */
  readonly fingerprint: string;
}

export interface SkipReason {
  readonly reason: string;
  /** The advice for the person, as a sentence. */
  readonly hint?: string;
  /** Whether the card could be read, but is not the one that was accepted. */
  readonly isHeld?: boolean;
  /** Whether its server cannot be reached, which may pass. */
  readonly isAway?: boolean;
}

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_CARD_BYTES = 256 * 1024;
/** The longest name of an author, in characters. */
const MAX_AUTHOR = 200;

export function labelOf(source: CardSource): string {
  return source.name ?? (source.kind === 'remote' ? source.url : '');
}

export function nameTaken({ peer: { name } }: LoadedAgent): SkipReason {
  return {
    reason: `The name ${name} is taken by another agent.`,
    hint: 'Give it another name in its entry of a2a.remoteAgents.',
  };
}

/**
 * Loads the cards of the sources, local or remote, in parallel and creates a peer for each (requirement X2). Resolves in
 * their order, with the reason in place of a card that cannot be reached, read or trusted. A remote agent of `known`
 * whose server says that its card is the same is returned as it is. Never rejects.
 */
export function loadRemoteAgents(
  sources: readonly CardSource[],
  options: LoadOptions,
  known: readonly (LoadedAgent | undefined)[] = [],
): Promise<readonly (LoadedAgent | SkipReason)[]> {
  return Promise.all(sources.map((source, at) => loadAgent(source, options, known[at])));
}

async function loadAgent(
  source: CardSource,
  options: LoadOptions,
  known: LoadedAgent | undefined,
): Promise<LoadedAgent | SkipReason> {
  try {
    const isRemote = source.kind === 'remote';
    const own = { ...options, ...(isRemote && source.connect) };
    const read = isRemote ? await readCard(source, own) : undefined;
    if (known && known.json === read?.json) return known;
    const { card, ...opened } = isRemote ? await openCard(read!, source, own) : await openLocal(source);
    const link = new MovingLink(opened.link);
    const profile = {
      ...toProfile(card, source.name),
      ...(isRemote && defined({ use: source.description })),
    };
    const retry = { ...DEFAULT_RETRY, ...options.retry };
    // Agents of this server have the limits of their own tasks.
    const limits = isRemote ? { ...REMOTE_LIMITS, ...options.limits } : CLIENT_LIMITS;
    return {
      ...opened,
      link,
      peer: createPeer({ profile, link, retry, limits, rename: renamer(source, card, profile), isRemote }),
      fingerprint: fingerprint(source, profile, card),
    };
  } catch (cause) {
    const error = fromWireError(cause);
    return {
      ...skipReason({ reason: errorText(error), hint: adviceFor(error) }),
      ...(cause instanceof UntrustedCard && { isHeld: true }),
      ...((error.code === 'unavailable' || error.code === 'timeout') && { isAway: true }),
    };
  }
}

/** Leaves out an undefined hint, so that logs and JSON show none. */
export function skipReason({ reason, hint }: { reason: string; hint?: string | undefined }): SkipReason {
  return { reason, ...(hint === undefined ? {} : { hint }) };
}

export const CREDENTIAL_HINT =
  'Set token or auth in its entry of a2a.remoteAgents to a credential that it accepts.';

function adviceFor({ code, hint }: LangoError): string {
  if (hint !== undefined) return hint;
  switch (code) {
    case 'unauthenticated':
      return CREDENTIAL_HINT;
    case 'not-found':
      return 'Set url in its entry of a2a.remoteAgents to the address of the agent, of its card or of its host.';
    case 'unavailable':
    case 'timeout':
      return 'It joins when it responds. Check that it runs, and that url in its entry of a2a.remoteAgents is its address.';
    default:
      return 'Check its entry in a2a.remoteAgents. If its card is wrong, only its operator can correct it.';
  }
}

/**
 * Makes the function that maps author names of another server to local names: the peer gets its local name, and each of
 * its sub-agents gets that name as a prefix. So no remote agent can write under the name of a local one.
 */
function renamer(source: CardSource, card: AgentCard, { name }: AgentProfile): (author: string) => string {
  if (source.kind === 'local') return (author) => author;
  return (author) =>
    author === card.name || author === name ? name : shorten(`${name}/${author}`, MAX_AUTHOR);
}

interface OpenAgent<Connection extends Link = Link> {
  readonly card: AgentCard;
  /** The card as it was received. */
  readonly json: JsonObject;
  /** The address of the card; undefined for an agent in this process. */
  readonly url?: string;
  readonly link: Connection;
  /** Why the agent may refuse requests, although it is used: its card asks for a credential that the entry does not have. */
  readonly note?: SkipReason | undefined;
}

async function openLocal({ handler }: LocalSource): Promise<OpenAgent> {
  const json = AgentCard.toJSON(await handler.getAgentCard()) as JsonObject;
  return { card: parseCard(json), json, link: { tasks: handler.tasks, streams: true, replays: true } };
}

/** Loads a remote card and opens a link to its agent. Throws a `LangoError`. */
export async function openRemote(
  source: Omit<RemoteSource, 'kind'>,
  options: OpenOptions,
): Promise<OpenAgent<WireLink>> {
  return openCard(await readCard(source, options), source, options);
}

type ReadCard = Awaited<ReturnType<typeof readCard>>;

/** Loads a remote card, the same object while its server says that it has not changed, and checks that it is trusted. */
async function readCard(source: Omit<RemoteSource, 'kind'>, options: OpenOptions) {
  const { timeoutMs = DEFAULT_TIMEOUT_MS, cardBytes = DEFAULT_CARD_BYTES } = options;
  if (!/^https?:\/\//i.test(source.url) || !URL.canParse(source.url)) {
    throw new LangoError('invalid-config', `"${source.url}" is not an http or https address.`);
  }
  const { origin } = new URL(source.url);
  const credential = source.credential ?? tokenCredential(source.token);
  const bound = createOriginFetch({ fetch: options.fetch, origin, credential });
  using deadline = new Deadline(options.signal).expect(timeoutMs, () => {
    return new LangoError('timeout', `The server did not send the card within ${timeoutMs} ms.`);
  });
  const held = heldCards.get(source) ?? new Map<string, never>();
  heldCards.set(source, held);
  const request = { url: source.url, fetch: bound, maxBytes: cardBytes, held, signal: deadline.signal };
  const { json, url } = await fetchCard(request);
  if (source.trust) await assertTrustedCard(json, source.trust);
  return { json, url, origin, credential, bound };
}

async function openCard(
  { json, url, origin, credential, bound }: ReadCard,
  { credentialFor }: Omit<RemoteSource, 'kind'>,
  options: OpenOptions,
): Promise<OpenAgent<WireLink>> {
  const named = parseCard(json);
  const card = options.relocate === true ? relocated(named, origin) : named;
  assertReachable(card, origin);
  const declaresTls = card.capabilities?.extensions.some(({ uri }) => uri === GRPC_TLS) ?? false;
  const isSecure = origin.startsWith('https:') || declaresTls;
  const grpc = options.grpc && { rules: options.grpc, credential, isSecure };
  const transport = await createRemoteTransport(card, { fetch: bound, grpc, binding: options.binding });
  const kinds = [...(credential?.kinds ?? []), ...(credentialFor ? [{ type: 'bearer' } as const] : [])];
  const shown = credential ? withMaskedErrors(transport, (text) => credential.mask(text)) : transport;
  const link = createLink(shown, card, credentialFor);
  return { card, json, url, link, note: securityNote(card, kinds) };
}

const heldCards = new WeakMap<object, HeldCards>();

function fingerprint({ kind }: CardSource, profile: AgentProfile, card: AgentCard): string {
  const { supportedInterfaces, capabilities } = AgentCard.toJSON(card) as Record<string, unknown>;
  // The address of a local agent is known only once the server listens, and nothing calls it.
  return hashJson([profile, capabilities, kind === 'remote' ? supportedInterfaces : []]);
}
