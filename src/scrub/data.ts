import type { Activity, EventBody } from '../core/task.js';
import type { Scrubber } from '../core/secrets.js';
import { isUtf8 } from 'node:buffer';

/**
 * Scrubs every text in plain data, also the names of members. Returns the same object when nothing was found. In a file
 * part it scrubs the bytes, not their base64 text.
 */
export function scrubData<T>(value: T, scrubber: Scrubber): T {
  return scrubber.isEmpty ? value : (scrubValue(value, scrubber) as T);
}

function scrubValue(value: unknown, scrubber: Scrubber): unknown {
  if (typeof value === 'string') return scrubber.text(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => scrubValue(item, scrubber));
    return items.every((item, index) => item === value[index]) ? (value as unknown) : items;
  }
  const isFile = 'kind' in value && value.kind === 'file';
  let isSame = true;
  const members = Object.entries(value).map(([name, member]: [string, unknown]) => {
    const isBytes = isFile && name === 'bytes' && typeof member === 'string';
    const after = isBytes ? scrubBase64(member, scrubber) : scrubValue(member, scrubber);
    const newName = scrubber.text(name);
    if (after !== member || newName !== name) isSame = false;
    return [newName, after];
  });
  return isSame ? value : (Object.fromEntries(members) as unknown);
}

/** Scrubs the bytes of a file: UTF-8 as text, other content byte by byte. */
function scrubBase64(base64: string, scrubber: Scrubber): string {
  const bytes = Buffer.from(base64, 'base64');
  const encoding = isUtf8(bytes) ? 'utf8' : 'latin1';
  const text = bytes.toString(encoding);
  const scrubbed = scrubber.text(text);
  return scrubbed === text ? base64 : Buffer.from(scrubbed, encoding).toString('base64');
}

/** Scrubs what an agent said, did or got. Ids, keys and states stay unchanged. */
export function scrubEvent<Body extends EventBody>(body: Body, scrubber: Scrubber): Body {
  return scrubber.isEmpty ? body : (scrubBody(body, scrubber) as Body);
}

function scrubBody(body: EventBody, scrubber: Scrubber): EventBody {
  const clean = <T>(value: T): T => scrubData(value, scrubber);
  switch (body.type) {
    case 'text-delta':
      return { ...body, text: clean(body.text) };
    case 'artifact':
      return { ...body, artifact: { ...clean(body.artifact), id: body.artifact.id } };
    case 'message':
      return { ...body, message: scrubMessage(body.message, scrubber) };
    case 'turn-end': {
      // A vendor expects its opaque blocks back unchanged, so one that holds a secret is left out.
      const content = body.content.filter((block) => block.type !== 'opaque' || clean(block) === block);
      return {
        ...body,
        content: content.map((block) => {
          if (block.type !== 'function-call') return block.type === 'text' ? clean(block) : block;
          return { ...block, ...clean({ arguments: block.arguments, invalid: block.invalid }) };
        }),
      };
    }
    case 'tool-call':
      return { ...body, arguments: clean(body.arguments) };
    case 'tool-result':
      return { ...body, result: { ...body.result, ...cleanResult(body.result, scrubber) } };
    case 'delegation-start':
      return { ...body, request: clean(body.request) };
    case 'delegation-end':
      return {
        ...body,
        result: { ...body.result, ...cleanResult(body.result, scrubber) },
        ...(body.questions ? { questions: body.questions.map((one) => cleanQuestion(one, scrubber)) } : {}),
      };
    case 'activity':
      return { ...body, activity: scrubActivity(body.activity, scrubber) };
    case 'question':
      return { ...body, question: cleanQuestion(body.question, scrubber) };
    case 'run-end':
      return {
        ...body,
        ...(body.message ? { message: scrubMessage(body.message, scrubber) } : {}),
        ...(body.questions ? { questions: body.questions.map((one) => cleanQuestion(one, scrubber)) } : {}),
      };
    case 'run-start':
    case 'turn-start':
    case 'delegation-task':
    case 'question-expiry':
    case 'cancel-request':
      return body;
  }
}

/** Scrubs parts and metadata. The id and references stay unchanged. */
export function scrubMessage<M extends { readonly parts: unknown; readonly metadata?: unknown }>(
  message: M,
  scrubber: Scrubber,
): M {
  if (scrubber.isEmpty) return message;
  const { parts, metadata } = message;
  return {
    ...message,
    parts: scrubData(parts, scrubber),
    ...(metadata === undefined ? {} : { metadata: scrubData(metadata, scrubber) }),
  };
}

type Result = Extract<EventBody, { type: 'tool-result' }>['result'];

function cleanResult({ content, images }: Result, scrubber: Scrubber): Partial<Result> {
  return {
    content: scrubber.text(content),
    ...(images ? { images: scrubData(images, scrubber) } : {}),
  };
}

type Asked = Extract<EventBody, { type: 'question' }>['question'];

function cleanQuestion(question: Asked, scrubber: Scrubber): Asked {
  return {
    ...question,
    text: scrubber.text(question.text),
    ...(question.arguments ? { arguments: scrubData(question.arguments, scrubber) } : {}),
  };
}

function scrubActivity(activity: Activity, scrubber: Scrubber): Activity {
  switch (activity.type) {
    case 'text':
    case 'tool-result':
      return { ...activity, text: scrubber.text(activity.text) };
    case 'tool-call':
      return { ...activity, arguments: scrubData(activity.arguments, scrubber) };
    case 'delegation-start':
      return { ...activity, request: scrubber.text(activity.request) };
    case 'turn-start':
    case 'delegation-end':
      return activity;
  }
}
