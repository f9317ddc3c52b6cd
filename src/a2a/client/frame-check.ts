import { z } from 'zod';
import type { Expected } from '../../core/inspection.js';
import { keyOf } from '../../core/findings.js';
import { isJsonObject, objectIn, type Json, type JsonObject } from '../../core/json.js';

/** The rules of A2A for the bodies of requests and the frames of responses. Members that it does not name are permitted, as the specification has it. */

const id = z.string().min(1, 'must not be empty');
const name = z.string();
const metadata = z.record(z.string(), z.unknown()).optional();
const time = z.iso.datetime({ offset: true });

/** An object with exactly one of these members. */
function oneOf<Shape extends z.ZodRawShape>(shape: Shape, others: z.ZodRawShape = {}) {
  const names = Object.keys(shape);
  return z
    .looseObject({ ...z.object(shape).partial().shape, ...others })
    .refine((value) => names.filter((one) => value[one] !== undefined).length === 1, {
      message: `must have exactly one of ${names.join(', ')}`,
    });
}

const about = { metadata, mediaType: name.optional(), filename: name.optional() };
const part = oneOf({ text: name, raw: z.base64(), url: name, data: z.unknown() }, about);
const message = z.looseObject({
  messageId: id,
  role: z.enum(['ROLE_USER', 'ROLE_AGENT']),
  parts: z.array(part).min(1),
  metadata,
});
const STATES = 'SUBMITTED WORKING COMPLETED FAILED CANCELED INPUT_REQUIRED REJECTED AUTH_REQUIRED'.split(' ');
const status = z.looseObject({
  state: z.enum(STATES.map((state) => `TASK_STATE_${state}`)),
  message: message.optional(),
  timestamp: time.optional(),
});
const artifact = z.looseObject({ artifactId: id, parts: z.array(part).min(1), metadata });
const task = z.looseObject({
  ...{ id, contextId: id, status },
  artifacts: z.array(artifact).optional(),
  history: z.array(message).optional(),
});
const statusUpdate = z.looseObject({ taskId: id, contextId: id, status });
const artifactUpdate = z.looseObject({ taskId: id, contextId: id, artifact });
const streamed = oneOf({ task, message, statusUpdate, artifactUpdate });
const page = z.looseObject({
  tasks: z.array(task),
  ...{ nextPageToken: name, pageSize: z.int(), totalSize: z.int() },
});
const webhook = z.looseObject({ url: z.url() });
const ofTask = z.looseObject({ taskId: id });
const config = webhook.extend({ taskId: id });
type Schemas = Readonly<Record<string, z.ZodType>>;
const skill = z.looseObject({ id, name: z.string().min(1, 'must not be empty') });
/** The members that cards of both versions have. The linter of cards says more. */
const card = z.looseObject({
  ...{ name: id, description: name, version: id },
  skills: z.array(skill).optional(),
});
const RESULTS: Schemas = {
  SendMessage: oneOf({ task, message }),
  ...{ SendStreamingMessage: streamed, SubscribeToTask: streamed },
  ...{ GetTask: task, CancelTask: task, ListTasks: page },
  ...{ CreateTaskPushNotificationConfig: config, GetTaskPushNotificationConfig: config },
  ListTaskPushNotificationConfigs: z.looseObject({ configs: z.array(config) }),
  GetExtendedAgentCard: card,
};
const sending = z.looseObject({ message, configuration: z.looseObject({}).optional(), metadata });
const named = z.looseObject({ id });
const ofConfig = ofTask.extend({ id });
const PARAMS: Schemas = {
  ...{ SendMessage: sending, SendStreamingMessage: sending },
  ...{ GetTask: named, CancelTask: named, SubscribeToTask: named, ListTasks: z.looseObject({}) },
  ...{ CreateTaskPushNotificationConfig: config, GetTaskPushNotificationConfig: ofConfig },
  ...{ ListTaskPushNotificationConfigs: ofTask, DeleteTaskPushNotificationConfig: ofConfig },
};
/** Requests of HTTP+JSON have the ids in their path. */
const BODIES: Schemas = {
  ...{ SendMessage: sending, SendStreamingMessage: sending },
  CreateTaskPushNotificationConfig: webhook,
};

const oldPart = z.discriminatedUnion('kind', [
  z.looseObject({ kind: z.literal('text'), text: name }),
  z.looseObject({ kind: z.literal('file'), file: oneOf({ bytes: z.base64(), uri: name }) }),
  z.looseObject({ kind: z.literal('data'), data: z.record(z.string(), z.unknown()) }),
]);
const oldMessage = z.looseObject({
  ...{ kind: z.literal('message'), messageId: id, role: z.enum(['user', 'agent']) },
  parts: z.array(oldPart).min(1),
});
const oldStatus = z.looseObject({
  state: z.enum([...STATES, 'UNKNOWN'].map((state) => state.toLowerCase().replace('_', '-'))),
  message: oldMessage.optional(),
  timestamp: time.optional(),
});
const oldArtifact = z.looseObject({ artifactId: id, parts: z.array(oldPart).min(1) });
const oldTask = z.looseObject({
  ...{ kind: z.literal('task'), id, contextId: id, status: oldStatus },
  artifacts: z.array(oldArtifact).optional(),
  history: z.array(oldMessage).optional(),
});
const update = { taskId: id, contextId: id };
const oldStreamed = z.discriminatedUnion('kind', [
  ...([oldTask, oldMessage] as const),
  z.looseObject({ ...update, kind: z.literal('status-update'), status: oldStatus, final: z.boolean() }),
  z.looseObject({ ...update, kind: z.literal('artifact-update'), artifact: oldArtifact }),
]);
const oldConfig = z.looseObject({ taskId: id, pushNotificationConfig: webhook });
const OLD_RESULTS: Schemas = {
  SendMessage: z.discriminatedUnion('kind', [oldTask, oldMessage]),
  ...{ SendStreamingMessage: oldStreamed, SubscribeToTask: oldStreamed },
  ...{ GetTask: oldTask, CancelTask: oldTask },
  ...{ CreateTaskPushNotificationConfig: oldConfig, GetTaskPushNotificationConfig: oldConfig },
  ListTaskPushNotificationConfigs: z.array(oldConfig),
  GetExtendedAgentCard: card,
};
const oldSending = z.looseObject({ message: oldMessage, configuration: z.looseObject({}).optional() });
const OLD_PARAMS: Schemas = {
  ...{ SendMessage: oldSending, SendStreamingMessage: oldSending },
  ...{ GetTask: named, CancelTask: named, SubscribeToTask: named },
  ...{ CreateTaskPushNotificationConfig: oldConfig, GetTaskPushNotificationConfig: named },
  ...{ ListTaskPushNotificationConfigs: named },
  DeleteTaskPushNotificationConfig: named.extend({ pushNotificationConfigId: id }),
};

/** HTTP+JSON and gRPC of 0.3 have the messages of its proto. */
const protoPart = oneOf({
  ...{ text: name, data: z.looseObject({ data: z.record(z.string(), z.unknown()) }) },
  file: oneOf({ fileWithUri: name, fileWithBytes: z.base64() }),
});
const protoMessage = z.looseObject({
  ...{ messageId: id, role: z.enum(['ROLE_USER', 'ROLE_AGENT']) },
  content: z.array(protoPart).min(1),
});
const protoStatus = z.looseObject({
  state: z.enum(STATES.map((state) => `TASK_STATE_${state.replace('CANCELED', 'CANCELLED')}`)),
  update: protoMessage.optional(),
  timestamp: time.optional(),
});
const protoArtifact = z.looseObject({ artifactId: id, parts: z.array(protoPart).min(1) });
const protoTask = z.looseObject({
  ...{ id, contextId: id, status: protoStatus },
  artifacts: z.array(protoArtifact).optional(),
  history: z.array(protoMessage).optional(),
});
const protoStreamed = oneOf({
  ...{ task: protoTask, message: protoMessage },
  statusUpdate: z.looseObject({ ...update, status: protoStatus }),
  artifactUpdate: z.looseObject({ ...update, artifact: protoArtifact }),
});
const protoConfig = z.looseObject({ name, pushNotificationConfig: webhook });
const PROTO_RESULTS: Schemas = {
  SendMessage: oneOf({ task: protoTask, message: protoMessage }),
  ...{ SendStreamingMessage: protoStreamed, SubscribeToTask: protoStreamed },
  ...{ GetTask: protoTask, CancelTask: protoTask },
  ...{ CreateTaskPushNotificationConfig: protoConfig, GetTaskPushNotificationConfig: protoConfig },
  ListTaskPushNotificationConfigs: z.looseObject({ configs: z.array(protoConfig).optional() }),
  GetExtendedAgentCard: card,
};
const protoSending = z.looseObject({ message: protoMessage, configuration: z.looseObject({}).optional() });
const protoSet = z.looseObject({ config: z.looseObject({ pushNotificationConfig: webhook }) });
const PROTO_BODIES: Schemas = {
  ...{ SendMessage: protoSending, SendStreamingMessage: protoSending },
  CreateTaskPushNotificationConfig: protoSet,
};
/** gRPC of 0.3 names tasks and configurations as resources. */
const taskName = z.string().regex(/^tasks\/[^/]+$/, 'must be tasks/ID');
const configName = z
  .string()
  .regex(/^tasks\/[^/]+\/pushNotificationConfigs\/[^/]+$/, 'must be tasks/ID/pushNotificationConfigs/ID');
const ofTaskName = z.looseObject({ name: taskName });
const ofConfigName = z.looseObject({ name: configName });
const belowTask = z.looseObject({ parent: taskName });
const PROTO_PARAMS: Schemas = {
  ...{ SendMessage: protoSending, SendStreamingMessage: protoSending },
  ...{ GetTask: ofTaskName, CancelTask: ofTaskName, SubscribeToTask: ofTaskName },
  CreateTaskPushNotificationConfig: protoSet.extend({ parent: taskName }),
  ...{ GetTaskPushNotificationConfig: ofConfigName, DeleteTaskPushNotificationConfig: ofConfigName },
  ListTaskPushNotificationConfigs: belowTask,
};

const call = { jsonrpc: z.literal('2.0'), id: z.union([z.string(), z.number(), z.null()]) };
const envelope = oneOf({ result: z.unknown(), error: z.looseObject({ code: z.int(), message: name }) }, call);
const calling = z.looseObject({ ...call, method: name, params: z.looseObject({}).optional() });

const MAX_PROBLEMS = 20;

/** The members of results whose defaults gRPC does not send. */
const PROTO_DEFAULTS: Readonly<Record<string, JsonObject>> = {
  ListTasks: { tasks: [], nextPageToken: '', pageSize: 0, totalSize: 0 },
  ListTaskPushNotificationConfigs: { configs: [] },
};

/** Returns how a frame of a response violates the specification. Bodies of HTTP+JSON errors are free. */
export function checkFrame(text: string, { version, transport, operation }: Expected, status: number) {
  return checkJson(text, (json) => {
    if (transport !== 'JSONRPC') {
      const schemas = version === '1.0' ? RESULTS : PROTO_RESULTS;
      const whole = transport === 'GRPC' ? { ...PROTO_DEFAULTS[operation], ...objectIn(json) } : json;
      return status < 400 ? problemsOf(schemas[operation], whole, '') : [];
    }
    const problems = problemsOf(envelope, json, '');
    const result = isJsonObject(json) ? json['result'] : undefined;
    if (problems.length > 0 || result === undefined) return problems;
    return problemsOf((version === '1.0' ? RESULTS : OLD_RESULTS)[operation], result, 'result');
  });
}

/** Returns how the body of a request violates the specification. A request without a body violates nothing. */
export function checkRequest(body: string | undefined, { version, transport, operation }: Expected) {
  if (body === undefined) return [];
  return checkJson(body, (json) => {
    const isNew = version === '1.0';
    if (transport === 'GRPC') return problemsOf((isNew ? PARAMS : PROTO_PARAMS)[operation], json, '');
    if (transport === 'HTTP+JSON') return problemsOf((isNew ? BODIES : PROTO_BODIES)[operation], json, '');
    const params = isJsonObject(json) ? (json['params'] ?? {}) : {};
    return [
      ...problemsOf(calling, json, ''),
      ...problemsOf((isNew ? PARAMS : OLD_PARAMS)[operation], params, 'params'),
    ];
  });
}

function checkJson(text: string, check: (json: Json) => readonly string[]): readonly string[] {
  let json: Json;
  try {
    json = JSON.parse(text) as Json;
  } catch (error) {
    return [`is no JSON: ${(error as Error).message}`];
  }
  return check(json);
}

function problemsOf(schema: z.ZodType | undefined, value: unknown, place: string): readonly string[] {
  const issues = schema?.safeParse(value).error?.issues ?? [];
  return issues.slice(0, MAX_PROBLEMS).map((issue) => {
    const path = keyOf([...(place === '' ? [] : [place]), ...issue.path]);
    return `${path === '' ? 'The frame' : path}: ${issue.message}`;
  });
}
