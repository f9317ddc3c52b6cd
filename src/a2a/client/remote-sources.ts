import { serverUrl } from '../../core/card.js';
import { tokenCredential } from '../../core/credential.js';
import type { CertificateFiles, ServerTrust } from '../../core/http.js';
import type { Caller } from '../../core/identity.js';
import type { Logger } from '../../core/logger.js';
import { createOriginFetch } from '../../core/origin-fetch.js';
import type { CardTrust } from './card.js';
import type { GrpcRules } from './grpc-transport.js';
import type { OpenOptions, RemoteSource } from './load.js';
import { createPeerCredential, type CredentialParts, type PeerEntry } from './peer-credential.js';
import type { CredentialFor } from './wire-tasks.js';

/** An agent of `a2a.remoteAgents`, and the values of its credential. */
interface RemoteEntry extends PeerEntry {
  readonly agent: PeerEntry['agent'] & {
    readonly name: string;
    readonly description?: string | undefined;
    readonly allowPrivate: boolean;
    readonly relocate: boolean;
    readonly verify?: CardRules | undefined;
    readonly owners?: 'shared' | 'forward' | undefined;
  };
}

/** The conditions for trusting a card: its hash, or the keys at an address or in a file. */
interface CardRules {
  readonly hash?: string | undefined;
  readonly jwks?: string | undefined;
  readonly keys?: string | undefined;
}

interface RemoteParts extends CredentialParts {
  /** Makes the check of addresses, which permits private ones of these hosts. */
  readonly addressCheck: (hosts: readonly string[]) => GrpcRules['addressOf'];
  /** Signs the token of one request, which names the caller to the node that is its audience. */
  readonly sign: (audience: string, caller: Caller, task: string | undefined) => Promise<string>;
  /** Makes the reader of a client certificate: the same object until a file changes. */
  readonly clientCertificate: (files: CertificateFiles) => () => Promise<ServerTrust>;
  /** Opens the keys of a rule, if it names any; `send` requests them. */
  readonly openKeys: (rules: CardRules, send: typeof fetch, logger: Logger) => CardTrust['findKey'];
  readonly logger: Logger;
}

/** The parts that send requests on behalf of an owner. */
type CallingParts = Pick<RemoteParts, 'createFetch' | 'sign'>;

/** The remote agents of a list as sources of cards. */
export function remoteSources(list: readonly RemoteEntry[], parts: RemoteParts): readonly RemoteSource[] {
  const shared = connectRules(parts);
  return list.map(({ agent, values }): RemoteSource => {
    const { name, description, url, allowPrivate, verify, relocate, auth } = agent;
    const addresses = verify?.jwks === undefined ? [url] : [url, verify.jwks];
    const rules = allowPrivate ? connectRules(parts, addresses) : shared;
    const shown =
      auth?.mtls &&
      withCertificate(parts.clientCertificate(auth.mtls), (trust) => connectRules(parts, addresses, trust));
    const isForwarded = agent.owners === 'forward';
    return {
      ...{ kind: 'remote', name, description, url, settings: { agent, values } },
      trust: verify && {
        hash: verify.hash,
        findKey: parts.openKeys(verify, rules.fetch, parts.logger.child({ agent: name })),
      },
      connect: { ...(shown ?? rules), relocate },
      credential: createPeerCredential({ agent, values }, parts),
      credentialFor: isForwarded ? assertionFor(agent, parts) : undefined,
      fetchAs: isForwarded ? fetchForOwners(agent, parts, OWNER_CALL_MS) : undefined,
    };
  });
}

/** A node that trusts this one to name the owner of a request. */
type TrustingNode = Pick<RemoteEntry['agent'], 'url' | 'allowPrivate'> & {
  readonly audience?: string | undefined;
};

/** Makes the function that signs the tokens which name the owner to that node. */
function assertionFor(
  { url, audience = serverUrl(url, '/').href }: TrustingNode,
  { sign }: CallingParts,
): CredentialFor {
  return (caller, task) => sign(audience, caller, task);
}

/** The time limit for a request about an owner's data, which may be large. */
export const OWNER_CALL_MS = 60_000;

/** Makes the function that sends requests to that node on behalf of an owner. A token is valid for one request. */
export function fetchForOwners(node: TrustingNode, parts: CallingParts, timeoutMs: number) {
  const { origin, host } = new URL(node.url);
  const allowPrivate = node.allowPrivate ? [host] : [];
  const privateHint = 'If that is meant, set allowPrivate: true beside its url.';
  const send = parts.createFetch({ allowPrivate, timeoutMs, maxBytes: STREAM_BYTES, privateHint });
  const credentialFor = assertionFor(node, parts);
  return async (caller: Caller): Promise<typeof fetch> =>
    async (input, init) => {
      const credential = tokenCredential(await credentialFor(caller, undefined));
      return createOriginFetch({ fetch: send, origin, credential })(input, init);
    };
}

type ConnectRules = Pick<OpenOptions, 'fetch'> & { readonly grpc: GrpcRules };

/** The largest event stream of a remote agent: room for the most text that it may send, as small events. */
const STREAM_BYTES = 32 * 1024 * 1024;

/** HTTP and gRPC to remote agents. The hosts of `addresses` may have private addresses, whatever the port of their gRPC. */
export function connectRules(
  { createFetch, addressCheck, timeoutMs }: Pick<RemoteParts, 'createFetch' | 'addressCheck' | 'timeoutMs'>,
  addresses: readonly string[] = [],
  trust?: ServerTrust,
): ConnectRules {
  const urls = addresses.map((address) => new URL(address));
  const names = urls.map(({ hostname }) => hostname.replace(/^\[|\]$/g, ''));
  return {
    fetch: createFetch({
      ...{ timeoutMs, streamBytes: STREAM_BYTES, isBoundedJson: true, trust },
      allowPrivate: urls.map(({ host }) => host),
      privateHint: 'If that is meant, set allowPrivate: true in its entry of a2a.remoteAgents.',
    }),
    grpc: { addressOf: addressCheck(names), timeoutMs },
  };
}

/** Connections that show a client certificate, which is read again when its files change. */
function withCertificate(
  read: () => Promise<ServerTrust>,
  rulesWith: (trust?: ServerTrust) => ConnectRules,
): ConnectRules {
  let made: { readonly trust: ServerTrust; readonly fetch: typeof fetch } | undefined;
  return {
    grpc: { ...rulesWith().grpc, trust: read },
    fetch: async (input, init) => {
      const trust = await read();
      if (made?.trust !== trust) made = { trust, fetch: rulesWith(trust).fetch };
      return made.fetch(input, init);
    },
  };
}
