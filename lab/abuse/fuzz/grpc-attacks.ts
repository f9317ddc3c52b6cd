import {
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetExtendedAgentCardRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTasksRequest,
  SendMessageRequest,
  SendMessageResponse,
  StreamResponse,
  SubscribeToTaskRequest,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import type { MessageFns } from '@a2a-js/sdk';
import { LegacyA2AService } from '@a2a-js/sdk/compat/v0_3/server/grpc';
import { A2AService } from '@a2a-js/sdk/server/grpc';
import type { MethodDefinition } from '@grpc/grpc-js';
import { gzipSync } from 'node:zlib';
import type { GrpcAnswer, GrpcRequest } from './grpc-call.js';
import { callGrpc, frame } from './grpc-call.js';
import { BROKEN_FROM, writeRaw } from './http-attacks.js';
import { garbled } from './mutate.js';
import type { Random } from './random.js';
import { anyCall, parametersOf, sendCall, spoiled } from './requests.js';
import type { Attack, Outcome, Target } from './target.js';
import { shown } from './target.js';

type Method = MethodDefinition<unknown, unknown>;

const METHODS = A2AService as unknown as Readonly<Record<keyof A2AService, Method>>;
const SENDS: readonly Method[] = [METHODS.sendMessage, METHODS.sendStreamingMessage];
/** The codecs that convert requests to and from JSON. */
const CODECS = new Map<Method, MessageFns<unknown>>([
  [METHODS.sendMessage, SendMessageRequest],
  [METHODS.sendStreamingMessage, SendMessageRequest],
  [METHODS.getTask, GetTaskRequest],
  [METHODS.listTasks, ListTasksRequest],
  [METHODS.cancelTask, CancelTaskRequest],
  [METHODS.subscribeToTask, SubscribeToTaskRequest],
  [METHODS.createTaskPushNotificationConfig, TaskPushNotificationConfig],
  [METHODS.getTaskPushNotificationConfig, GetTaskPushNotificationConfigRequest],
  [METHODS.listTaskPushNotificationConfigs, ListTaskPushNotificationConfigsRequest],
  [METHODS.deleteTaskPushNotificationConfig, DeleteTaskPushNotificationConfigRequest],
  [METHODS.getExtendedAgentCard, GetExtendedAgentCardRequest],
]);
const OLD = Object.values(LegacyA2AService as unknown as Record<string, Method>);
/** Small when compressed, and far over the limit when decompressed. */
const BOMB = gzipSync(Buffer.alloc(32 * 1024 * 1024));
const STRANGE_PATHS = ['/', '/lf.a2a.v1.A2AService/', '/lf.a2a.v1.A2AService/constructor', '/%00'];

/** Messages of the protocol in correct frames. They are mutated before they are encoded, or in their bytes. */
export const grpc: Attack = async (random, target) => {
  const { method, json } = random.chance(60) ? sending(target, random) : asking(target, random);
  const whole = encoded(method, json, random);
  const bytes = random.chance(20) ? garbled(whole, random) : whole;
  const path = random.chance(3) ? random.pick(STRANGE_PATHS) : method.path;
  const metadata = metadataOf(target, random);
  const body = random.chance(2) ? frame(Buffer.alloc(1024 * 1024 + random.below(1024))) : frame(bytes);
  return outcomeOf(target, { method, bytes, request: { path, metadata, body } });
};

/** A correct message with wrong gRPC frames (length, flags, count) or headers. */
export const grpcFrames: Attack = async (random, target) => {
  const method = random.pick(SENDS);
  const { agent: tenant, params } = sendCall(target, random);
  const bytes = encoded(method, { tenant, ...params }, random);
  const body = random.pick([
    frame(bytes, { length: random.below(2 ** 32) }),
    frame(bytes, { length: bytes.length - 1 }),
    frame(bytes, { flags: 1 + random.below(255) }),
    Buffer.concat([frame(bytes), frame(bytes)]),
    Buffer.alloc(0),
    frame(bytes).subarray(0, random.below(bytes.length)),
    random.bytes(random.below(200)),
    frame(BOMB, { flags: 1 }),
  ]);
  const head = random.pick<Record<string, string>>([
    {},
    {},
    { ':method': random.pick(['GET', 'PUT', 'OPTIONS']) },
    { 'content-type': random.pick(['application/json', 'application/grpc+json', 'text/html']) },
    { 'grpc-encoding': 'gzip' },
    { 'grpc-encoding': random.pick(['deflate', 'snappy']) },
    { 'grpc-timeout': random.pick(['0n', '1n', '1m', '-1S', 'soon', '99999999999H']) },
  ]);
  const metadata = { authorization: `Bearer ${target.token}`, ...head };
  return outcomeOf(target, { method, bytes, request: { path: method.path, metadata, body } });
};

interface GrpcShot {
  readonly method: Method;
  /** The message before mutation. */
  readonly bytes: Buffer;
  readonly request: GrpcRequest;
}

async function outcomeOf(
  { grpcPort, token }: Target,
  { method, bytes, request }: GrpcShot,
): Promise<Outcome> {
  const isWrong = request.metadata['authorization'] !== `Bearer ${token}`;
  const answer = await callGrpc(grpcPort, { ...request, from: isWrong ? BROKEN_FROM : undefined });
  return {
    mayBeSlow: isWrong,
    status: answer.status,
    text: textOf(method, answer),
    sent: sentText(method, bytes),
    request: shown(request.path, request.metadata, request.body),
  };
}

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const SETTINGS = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
const MAX_FRAMES = 20;

/** Frames of HTTP/2 with random types, flags, lengths and contents, mostly after a correct start of the connection. */
export const http2Frames: Attack = (random, { grpcPort }) => {
  const frames = Array.from({ length: 1 + random.below(MAX_FRAMES) }, () => {
    const payload = random.bytes(random.below(64));
    const length = random.chance(80) ? payload.length : random.below(2 ** 24);
    const head = Buffer.alloc(9);
    head.writeUIntBE(length, 0, 3);
    head.writeUInt8(random.below(12), 3);
    head.writeUInt8(random.below(256), 4);
    head.writeUInt32BE(random.below(8), 5);
    return Buffer.concat([head, payload]);
  });
  const start = random.chance(80) ? [PREFACE, SETTINGS] : [];
  return writeRaw(grpcPort, Buffer.concat([...start, ...frames]));
};

interface Asked {
  readonly method: Method;
  readonly json: object;
}

function sending(target: Target, random: Random): Asked {
  const { agent, params } = sendCall(target, random);
  return {
    method: random.pick(SENDS),
    json: { tenant: tenantOf(agent, random), ...asObject(params, random) },
  };
}

function asking(target: Target, random: Random): Asked {
  const { agent, params } = anyCall(target, random);
  const methods = random.chance(20) ? OLD : [...CODECS.keys()];
  return {
    method: random.pick(methods),
    json: { tenant: tenantOf(agent, random), ...asObject(params, random) },
  };
}

/** Whether it is a message, valid or not. */
function asObject(params: object, random: Random): object {
  const odd = spoiled(params, random);
  return typeof odd === 'object' && odd !== null ? odd : {};
}

function tenantOf(agent: string, random: Random): string {
  if (random.chance(85)) return agent;
  return random.pick(['operator', '', 'nobody', '__proto__', 'constructor', '\u0000', 'x'.repeat(5_000)]);
}

/** The bytes of the message, if the request has one. */
function encoded(method: Method, json: object, random: Random): Buffer {
  try {
    return method.requestSerialize(CODECS.get(method)?.fromJSON(json) ?? json);
  } catch {
    return random.chance(50) ? Buffer.from(JSON.stringify(json)) : random.bytes(random.below(100));
  }
}

function metadataOf(target: Target, random: Random): Record<string, string> {
  const good = parametersOf(target, random);
  if (!random.chance(5)) return good;
  return { ...good, [random.pick(['x-bin', 'x-odd', 'authorization'])]: random.bytes(20).toString('base64') };
}

/** The response to a message as JSON, or the reason of its refusal. */
function textOf(method: Method, { messages, reason }: GrpcAnswer): string {
  if (!SENDS.includes(method) || messages.length === 0) return reason;
  const codec: MessageFns<unknown> = method === METHODS.sendMessage ? SendMessageResponse : StreamResponse;
  return messages.map((bytes) => JSON.stringify(codec.toJSON(method.responseDeserialize(bytes)))).join('\n');
}

function sentText(method: Method, bytes: Buffer): string {
  if (!SENDS.includes(method)) return '';
  try {
    return JSON.stringify(SendMessageRequest.toJSON(method.requestDeserialize(bytes) as SendMessageRequest));
  } catch {
    return '';
  }
}
