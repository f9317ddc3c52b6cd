import { isJsonObject, type Json } from './json.js';
import type { AnswerBlock } from './model.js';
import type { Activity, EventBody } from './task.js';

/** The most characters of a tool's result that an activity shows. */
const SHOWN_RESULT_CHARACTERS = 2_000;

/** The most characters of a model's thoughts in one turn that an activity shows. */
const SHOWN_THOUGHT_CHARACTERS = 8_000;

/** Returns the activity that an entry reports; undefined when it reports none. */
export function activityOf(body: EventBody): Activity | undefined {
  switch (body.type) {
    case 'activity':
      return body.activity;
    case 'text-delta': {
      const { artifactId: id, text, replace } = body;
      return { type: 'text', id, text, ...(replace ? { replace } : {}) };
    }
    case 'turn-start':
      return { type: 'turn-start' };
    case 'turn-end': {
      const text = thoughtsOf(body.content).slice(0, SHOWN_THOUGHT_CHARACTERS);
      return text === '' ? undefined : { type: 'thinking', text };
    }
    case 'tool-call':
      return { type: 'tool-call', tool: body.tool, arguments: body.arguments };
    case 'tool-result': {
      const { name, isError, content } = body.result;
      return { type: 'tool-result', tool: name, isError, text: content.slice(0, SHOWN_RESULT_CHARACTERS) };
    }
    case 'delegation-start':
      return { type: 'delegation-start', agent: body.agent, request: body.request };
    case 'delegation-end': {
      const { type, agent, state, reason } = body;
      return { type, agent, state, ...(reason === undefined ? {} : { reason }) };
    }
    default:
      return undefined;
  }
}

/** Whether a text that its author wrote before is over: what the author says next is another one. */
export function endsText({ type }: Activity): boolean {
  return type === 'tool-call' || type === 'delegation-start' || type === 'turn-start';
}

/** The members of blocks in which vendors show thoughts: Anthropic, OpenAI, OpenRouter, DeepSeek, Mistral and others. */
const THOUGHTS = /^(thinking|reasoning|reasoning_content|reasoning_details|thinking_blocks|summary)$/;
/** The types of objects whose text is a thought. */
const OF_THOUGHTS = /^(thoughts|thinking|reasoning)/;
const TAG_AROUND = /^\s*<[\w:|]+>|<\/[\w:|]+>\s*$/g;

/** The thoughts of the model in an output, each once, as far as its vendor shows them; empty without any. */
export function thoughtsOf(content: readonly AnswerBlock[]): string {
  const found = new Set<string>();
  const read = (value: Json | undefined, isThought: boolean): void => {
    if (typeof value === 'string' && isThought) found.add(value.replace(TAG_AROUND, '').trim());
    if (Array.isArray(value)) for (const item of value as readonly Json[]) read(item, isThought);
    if (!isJsonObject(value)) return;
    const { type } = value;
    const isOfThoughts = isThought || (typeof type === 'string' && OF_THOUGHTS.test(type));
    for (const [name, member] of Object.entries(value)) {
      if (typeof member !== 'string') read(member, isThought || THOUGHTS.test(name));
      else if (THOUGHTS.test(name) || (name === 'text' && isOfThoughts)) read(member, true);
    }
  };
  for (const block of content) if (block.type === 'opaque') read(block.block, false);
  return [...found].filter(Boolean).join('\n\n');
}
