import { scrubData } from './scrubber.js';
import type { Scrubber } from './secrets.js';
import type { Activity, EventBody } from './task.js';

/** `body` without the values of secrets in what an agent said, did or got; ids, keys and states stay as they are. */
export function scrubEvent<Body extends EventBody>(body: Body, scrubber: Scrubber): Body {
  return scrubber.isEmpty ? body : (scrubAny(body, scrubber) as Body);
}

function scrubAny(body: EventBody, scrubber: Scrubber): EventBody {
  const clean = <T>(value: T): T => scrubData(value, scrubber);
  switch (body.type) {
    case 'text-delta':
      return { ...body, text: clean(body.text) };
    case 'artifact':
      return { ...body, artifact: { ...clean(body.artifact), id: body.artifact.id } };
    case 'message':
      return { ...body, message: scrubMessage(body.message, scrubber) };
    case 'turn-end': {
      // What a vendor wants back unchanged is left out rather than changed.
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

/** Its parts and metadata; its id and what it refers to stay. */
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
