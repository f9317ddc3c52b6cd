import {
  CancelTaskRequest,
  GetExtendedAgentCardRequest,
  GetTaskRequest,
  ListTasksRequest,
  SendMessageRequest,
  SubscribeToTaskRequest,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import { decodeErrorInfo, decodeStatus } from '@a2a-js/sdk/errors/grpc';
import { A2AService } from '@a2a-js/sdk/server/grpc';
import type { ClientReadableStream, ServiceError } from '@grpc/grpc-js';
import { Client, Metadata, credentials, status } from '@grpc/grpc-js';
import { TOKEN } from './a2a-node.js';
import type { Ask } from './a2a-requests.js';

/** The requests of a method, read from JSON. */
const REQUESTS = {
  sendMessage: SendMessageRequest,
  sendStreamingMessage: SendMessageRequest,
  getTask: GetTaskRequest,
  listTasks: ListTasksRequest,
  cancelTask: CancelTaskRequest,
  subscribeToTask: SubscribeToTaskRequest,
  createTaskPushNotificationConfig: TaskPushNotificationConfig,
  getExtendedAgentCard: GetExtendedAgentCardRequest,
} as const;

export type GrpcMethod = keyof typeof REQUESTS;

export interface GrpcReply {
  readonly code: status;
  /** The extensions in the head of the response. */
  readonly extensions: readonly string[];
  /** Everything that was received, for a stream one after the other. */
  readonly said: readonly unknown[];
  /** The messages and the message of the error, as text. */
  readonly text: string;
  /** The reason in the details of the error. */
  readonly reason: string | undefined;
}

type Caller = Pick<Ask, 'token' | 'headers'>;

/** A call over gRPC with the parameters of JSON-RPC, on a connection of its own. */
export async function askGrpc(
  address: string,
  asked: { readonly method: GrpcMethod; readonly params: object } & Caller,
): Promise<GrpcReply> {
  const client = new Client(address, credentials.createInsecure());
  try {
    return await heard(openGrpc(client, asked));
  } finally {
    client.close();
  }
}

/** Every method is read as a stream: a single response is a stream of one. */
export function openGrpc(
  client: Client,
  { method, params, ...caller }: { readonly method: GrpcMethod; readonly params: object } & Caller,
): ClientReadableStream<unknown> {
  const { path, requestSerialize, responseDeserialize } = A2AService[method];
  const serialize = requestSerialize as (value: unknown) => Buffer;
  const deserialize: (bytes: Buffer) => unknown = responseDeserialize;
  const request = REQUESTS[method].fromJSON(params);
  return client.makeServerStreamRequest(path, serialize, deserialize, request, saying(caller));
}

function saying({ token = TOKEN, headers }: Caller): Metadata {
  const metadata = new Metadata();
  metadata.set('a2a-version', '1.0');
  if (token !== null) metadata.set('authorization', `Bearer ${token}`);
  for (const [name, value] of Object.entries(headers ?? {})) metadata.set(name, value);
  return metadata;
}

function heard(stream: ClientReadableStream<unknown>): Promise<GrpcReply> {
  const said: unknown[] = [];
  let extensions: readonly string[] = [];
  stream.on('metadata', (head) => (extensions = head.get('a2a-extensions').map(String)));
  stream.on('data', (value) => said.push(value));
  return new Promise((resolve) => {
    const end = (code: status, words = '', reason?: string): void =>
      resolve({ code, extensions, said, text: JSON.stringify(said) + words, reason });
    stream.on('error', (error: ServiceError) => end(error.code, error.details, reasonOf(error)));
    stream.on('end', () => end(status.OK));
  });
}

function reasonOf({ metadata }: ServiceError): string | undefined {
  const [told] = metadata.get('grpc-status-details-bin');
  const info = Buffer.isBuffer(told) ? decodeStatus(told).details[0] : undefined;
  return info && decodeErrorInfo(info.value).reason;
}
