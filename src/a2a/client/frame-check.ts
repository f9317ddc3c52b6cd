import { z } from 'zod';
import type { Expected } from '../../core/inspection.js';
import { keyOf } from '../../core/findings.js';
import { isJsonObject, type Json } from '../../core/json.js';

/** The rules of A2A for the frames of responses. Members that it does not name are permitted, as the specification has it. */

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
const RESULTS: Readonly<Record<string, z.ZodType>> = {
  SendMessage: oneOf({ task, message }),
  ...{ SendStreamingMessage: streamed, SubscribeToTask: streamed },
  ...{ GetTask: task, CancelTask: task, ListTasks: page },
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
const OLD_RESULTS: Readonly<Record<string, z.ZodType>> = {
  SendMessage: z.discriminatedUnion('kind', [oldTask, oldMessage]),
  ...{ SendStreamingMessage: oldStreamed, SubscribeToTask: oldStreamed },
  ...{ GetTask: oldTask, CancelTask: oldTask },
};

const envelope = oneOf(
  { result: z.unknown(), error: z.looseObject({ code: z.int(), message: name }) },
  { jsonrpc: z.literal('2.0'), id: z.union([z.string(), z.number(), z.null()]) },
);

const MAX_PROBLEMS = 20;

/** Returns how a frame violates the specification; nothing for what it does not describe: HTTP+JSON of 0.3. */
export function checkFrame(text: string, { version, transport, operation }: Expected, status: number) {
  let json: Json;
  try {
    json = JSON.parse(text) as Json;
  } catch (error) {
    return [`is no JSON: ${(error as Error).message}`];
  }
  if (transport === 'JSONRPC') {
    const problems = problemsOf(envelope, json, '');
    const result = isJsonObject(json) ? json['result'] : undefined;
    if (problems.length > 0 || result === undefined) return problems;
    return problemsOf((version === '1.0' ? RESULTS : OLD_RESULTS)[operation], result, 'result');
  }
  return version === '1.0' && status < 400 ? problemsOf(RESULTS[operation], json, '') : [];
}

function problemsOf(schema: z.ZodType | undefined, value: unknown, place: string): readonly string[] {
  const issues = schema?.safeParse(value).error?.issues ?? [];
  return issues.slice(0, MAX_PROBLEMS).map((issue) => {
    const path = keyOf([...(place === '' ? [] : [place]), ...issue.path]);
    return `${path === '' ? 'The frame' : path}: ${issue.message}`;
  });
}
