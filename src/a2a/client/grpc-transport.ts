import type { AgentInterface, StreamResponse } from '@a2a-js/sdk';
import type { RequestOptions, Transport } from '@a2a-js/sdk/client';
import { LangoError, loadPackage, type ErrorCode } from '../../core/errors.js';
import type { ServerTrust } from '../../core/http.js';
import { fromWireError } from '../translate/errors.js';
import type { PeerCredential } from '../../core/credential.js';
import { Deadline } from '../../core/time.js';
import type { GrpcChannel } from './grpc-channel.js';

export interface GrpcRules {
  /** Resolves a host to the address to connect to, and rejects forbidden addresses. See `createAddressCheck`. */
  readonly addressOf: (host: string, port: number) => Promise<string>;
  /** The certificates to trust. Default: what Node trusts. */
  readonly trust?: ServerTrust | (() => Promise<ServerTrust>) | undefined;
  /** The time limit for a call that is not a stream. */
  readonly timeoutMs?: number;
  /** Milliseconds that a stream may be silent. */
  readonly idleMs?: number;
}

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_IDLE_MS = 120_000;

export interface GrpcPeer {
  readonly rules: GrpcRules;
  /** The credential that is added to the metadata of each call. */
  readonly credential: PeerCredential | undefined;
  /** Whether gRPC uses TLS even when the address does not say so: the card came over https, or declares TLS. */
  readonly isSecure: boolean;
}

type Call<Params, Result> = (transport: Transport, params: Params, options: RequestOptions) => Result;

const TLS_PORT = '443';

/**
 * Parses the address of a gRPC interface: host:port, or a URL, whose path is ignored. `isSecure`: whether the scheme asks
 * for TLS. Returns undefined for other texts.
 */
export function parseGrpcAddress(url: string) {
  const [, scheme, rest = ''] = /^(?:(grpcs?|grpc\+(?:tls|insecure)|https?|dns):\/*)?(.*)$/i.exec(url) ?? [];
  const [, host, given, path = '/'] = /^(\[[0-9a-f:.]+\]|[^\s/:]+)(?::(\d{1,5}))?(\/\S*)?$/i.exec(rest) ?? [];
  const isSecure = /^(?:grpcs|grpc\+tls|https)$/i.test(scheme ?? '');
  const port = given ?? (isSecure ? TLS_PORT : undefined);
  if (host === undefined || port === undefined || (scheme === undefined && path !== '/')) return undefined;
  return { host, port: Number(port), isSecure };
}

/**
 * Creates the SDK's transport over Lango's own connection. The connection opens at the first call, after the address
 * check. After a failure it opens again, and the name is resolved and checked anew.
 */
export function createGrpcTransport({ url, protocolVersion }: AgentInterface, peer: GrpcPeer): Transport {
  const version = protocolVersion.startsWith('0.') ? '0.3' : '1.0';
  const { timeoutMs = DEFAULT_TIMEOUT_MS, idleMs = DEFAULT_IDLE_MS } = peer.rules;
  let opened: Promise<GrpcChannel> | undefined;

  const open = (): Promise<GrpcChannel> => (opened ??= openChannel(url, version, peer));
  const close = (): void => {
    void opened?.then((channel) => channel.close()).catch(() => {});
    opened = undefined;
  };
  const failed = (error: unknown): LangoError => {
    const failure = fromWireError(error);
    if (BROKEN.has(failure.code)) close();
    return failure;
  };
  /** Makes a call, and a second one with other values when the peer refuses the credential before it responds. */
  const unary =
    <Params, Result>(call: Call<Params, Promise<Result>>) =>
    async (params: Params, options?: RequestOptions): Promise<Result> => {
      for (let isLast = false; ; isLast = true) {
        using silence = expectResponse(url, timeoutMs, options);
        const attempt = await withCredential(options, silence.signal, peer.credential);
        try {
          const { transport } = await open();
          return await call(transport, params, attempt.options);
        } catch (error) {
          const failure = failed(silence.hasPassed ? silence.signal.reason : error);
          if (isLast || !attempt.isRefused(failure)) throw failure;
        }
      }
    };
  /** The same for a stream. The silence is measured from each event. */
  const stream = <Params>(call: Call<Params, Events>) =>
    async function* (params: Params, options?: RequestOptions): Events {
      for (let isLast = false; ; isLast = true) {
        using silence = expectResponse(url, idleMs, options);
        const attempt = await withCredential(options, silence.signal, peer.credential);
        try {
          const { transport } = await open();
          for await (const event of call(transport, params, attempt.options)) {
            isLast = true;
            yield event;
            silence.renew();
          }
          return;
        } catch (error) {
          const failure = failed(silence.hasPassed ? silence.signal.reason : error);
          if (isLast || !attempt.isRefused(failure)) throw failure;
        }
      }
    };
  return {
    protocolName: 'GRPC',
    protocolVersion: version,
    getExtendedAgentCard: unary((to, ...call) => to.getExtendedAgentCard(...call)),
    sendMessage: unary((to, ...call) => to.sendMessage(...call)),
    sendMessageStream: stream((to, ...call) => to.sendMessageStream(...call)),
    createTaskPushNotificationConfig: unary((to, ...call) => to.createTaskPushNotificationConfig(...call)),
    getTaskPushNotificationConfig: unary((to, ...call) => to.getTaskPushNotificationConfig(...call)),
    listTaskPushNotificationConfig: unary((to, ...call) => to.listTaskPushNotificationConfig(...call)),
    deleteTaskPushNotificationConfig: unary((to, ...call) => to.deleteTaskPushNotificationConfig(...call)),
    getTask: unary((to, ...call) => to.getTask(...call)),
    cancelTask: unary((to, ...call) => to.cancelTask(...call)),
    listTasks: unary((to, ...call) => to.listTasks(...call)),
    resubscribeTask: stream((to, ...call) => to.resubscribeTask(...call)),
  };
}

/** Adds the values of the credential to the metadata of a call. The call's own metadata takes precedence. */
async function withCredential(
  options: RequestOptions = {},
  signal: AbortSignal,
  credential: PeerCredential | undefined,
) {
  const shown = await credential?.present();
  if (shown?.query)
    throw new LangoError(
      'not-supported',
      'An API key in the query cannot be sent over gRPC. Use a key in a header, or another binding.',
    );
  const own = options.serviceParameters;
  /** Whether the peer refused the credential, and another attempt would present other values. */
  const isRefused = (error: LangoError): boolean =>
    error.code === 'unauthenticated' && !own?.['authorization'] && !!shown && !!credential?.refused(shown);
  return { options: { ...options, signal, serviceParameters: { ...shown?.headers, ...own } }, isRefused };
}

/** Errors after which the connection is opened again. */
const BROKEN: ReadonlySet<ErrorCode> = new Set(['unavailable', 'forbidden', 'timeout']);

/** Aborts with `timeout` when nothing arrives for a while: a vanished peer would otherwise keep a stream open forever. */
function expectResponse(url: string, ms: number, options: RequestOptions | undefined): Deadline {
  const late = new LangoError('timeout', `${url} was silent for ${ms} ms.`, { retryable: true });
  return new Deadline(options?.signal, { ref: false }).expect(ms, () => late);
}

type Events = AsyncGenerator<StreamResponse, void, undefined>;

async function openChannel(url: string, version: '1.0' | '0.3', peer: GrpcPeer): Promise<GrpcChannel> {
  const target = parseGrpcAddress(url);
  if (!target) throw new LangoError('invalid-agent-response', 'The card names no host and port for gRPC.');
  const { addressOf, trust } = peer.rules;
  const address = await addressOf(target.host, target.port);
  // Loaded on demand: a server without gRPC peers starts faster and smaller.
  const { openGrpcChannel } = await loadPackage('@grpc/grpc-js', () => import('./grpc-channel.js'));
  const isSecure = peer.isSecure || target.isSecure;
  const trusted = typeof trust === 'function' ? await trust() : trust;
  return openGrpcChannel({ ...target, address, version, isSecure, trust: trusted });
}
