import type { AgentInterface, StreamResponse } from '@a2a-js/sdk';
import type { RequestOptions, Transport } from '@a2a-js/sdk/client';
import type { ErrorCode } from '../../core/errors.js';
import { LangoError } from '../../core/errors.js';
import type { ServerTrust } from '../../core/http.js';
import { fromWireError } from '../translate/errors.js';
import type { GrpcChannel } from './grpc-channel.js';

/** What a gRPC connection to a peer needs besides the address on its card. */
export interface GrpcRules {
  /** Tells the address to connect to, once it was looked at. See `createAddressCheck`. */
  readonly addressOf: (host: string, port: number) => Promise<string>;
  /** Which certificates are taken. Default: what Node trusts. */
  readonly trust?: ServerTrust | undefined;
  /** For a call that is no stream. */
  readonly timeoutMs?: number;
  /** How long a stream may be silent. */
  readonly idleMs?: number;
}

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_IDLE_MS = 120_000;

export interface GrpcPeer {
  readonly rules: GrpcRules;
  /** The bearer token of the peer. */
  readonly token: string | undefined;
  /** As its card came: a token never travels less safely than the card did. */
  readonly isSecure: boolean;
}

/** Host and port of a gRPC interface; undefined when it names none. Cards write it with or without a scheme. */
export function grpcPlace(url: string): { readonly host: string; readonly port: number } | undefined {
  const bare = url.replace(/^(?:grpcs?|https?|dns):\/*/i, '');
  const [, host, port] = /^(\[[0-9a-f:.]+\]|[^\s/:]+):(\d{1,5})\/?$/i.exec(bare) ?? [];
  return host === undefined ? undefined : { host, port: Number(port) };
}

/**
 * The SDK's transport over a connection of ours. It is opened at the first call, after the address was looked at, and
 * again after it failed: then the name is resolved and looked at anew.
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
    const told = fromWireError(error);
    if (BROKEN.has(told.code)) close();
    return told;
  };
  const withToken = (options: RequestOptions = {}, late: AbortSignal): RequestOptions => ({
    ...options,
    signal: options.signal ? AbortSignal.any([options.signal, late]) : late,
    serviceParameters: {
      ...options.serviceParameters,
      ...(peer.token === undefined ? {} : { authorization: `Bearer ${peer.token}` }),
    },
  });
  const unary =
    <Params, Result>(
      call: (transport: Transport, params: Params, options: RequestOptions) => Promise<Result>,
    ) =>
    async (params: Params, options?: RequestOptions): Promise<Result> => {
      const wait = new Wait(url, timeoutMs);
      try {
        const { transport } = await open();
        return await call(transport, params, withToken(options, wait.signal));
      } catch (error) {
        throw failed(wait.isOver ? wait.signal.reason : error);
      } finally {
        wait.end();
      }
    };
  const stream = <Params>(call: (transport: Transport, params: Params, options: RequestOptions) => Events) =>
    async function* (params: Params, options?: RequestOptions): Events {
      const wait = new Wait(url, idleMs);
      try {
        const { transport } = await open();
        for await (const event of call(transport, params, withToken(options, wait.signal))) {
          yield event;
          wait.renew();
        }
      } catch (error) {
        throw failed(wait.isOver ? wait.signal.reason : error);
      } finally {
        wait.end();
      }
    };
  return {
    protocolName: 'GRPC',
    protocolVersion: version,
    getExtendedAgentCard: unary((to, params, options) => to.getExtendedAgentCard(params, options)),
    sendMessage: unary((to, params, options) => to.sendMessage(params, options)),
    sendMessageStream: stream((to, params, options) => to.sendMessageStream(params, options)),
    createTaskPushNotificationConfig: unary((to, params, options) =>
      to.createTaskPushNotificationConfig(params, options),
    ),
    getTaskPushNotificationConfig: unary((to, params, options) =>
      to.getTaskPushNotificationConfig(params, options),
    ),
    listTaskPushNotificationConfig: unary((to, params, options) =>
      to.listTaskPushNotificationConfig(params, options),
    ),
    deleteTaskPushNotificationConfig: unary((to, params, options) =>
      to.deleteTaskPushNotificationConfig(params, options),
    ),
    getTask: unary((to, params, options) => to.getTask(params, options)),
    cancelTask: unary((to, params, options) => to.cancelTask(params, options)),
    listTasks: unary((to, params, options) => to.listTasks(params, options)),
    resubscribeTask: stream((to, params, options) => to.resubscribeTask(params, options)),
  };
}

/** What a connection does not recover from by itself, or not in time. */
const BROKEN: ReadonlySet<ErrorCode> = new Set(['unavailable', 'forbidden', 'timeout']);

/** Aborts with `timeout` when nothing comes for so long: a peer that vanished without a word says nothing for ever. */
class Wait {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;

  constructor(url: string, ms: number) {
    const late = new LangoError('timeout', `${url} was silent for ${ms} ms.`, { retryable: true });
    this.#timer = setTimeout(() => this.#controller.abort(late), ms).unref();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get isOver(): boolean {
    return this.signal.aborted;
  }

  renew(): void {
    this.#timer.refresh();
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

type Events = AsyncGenerator<StreamResponse, void, undefined>;

async function openChannel(url: string, version: '1.0' | '0.3', peer: GrpcPeer): Promise<GrpcChannel> {
  const place = grpcPlace(url);
  if (!place) throw new LangoError('invalid-agent-response', 'The card names no host and port for gRPC.');
  const { addressOf, trust } = peer.rules;
  const address = await addressOf(place.host, place.port);
  // A server that has no such peer starts faster and smaller without it.
  const { openGrpcChannel } = await import('./grpc-channel.js');
  return openGrpcChannel({ ...place, address, version, isSecure: peer.isSecure, trust });
}
