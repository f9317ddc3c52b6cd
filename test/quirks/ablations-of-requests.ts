import type { Ablation } from './ablations.js';

/** The rules for what models are sent, and for what is done with their refusals. */
export const REQUEST_RULES: readonly Ablation[] = [
  {
    rule: 'Calls go out under ids of nine letters and digits.',
    file: 'src/models/conversation.ts',
    find: '{ ...block, id: ids.next(block), name: fitName(block.name) }',
    replace: '{ ...block, name: fitName(block.name) }',
    red: ['call-ids-1-Messages', 'call-ids-3-Responses', 'call-ids-7-Chat Completions'],
  },
  {
    rule: 'Calls go out under names that every vendor takes.',
    file: 'src/models/conversation.ts',
    find: '{ ...block, id: ids.next(block), name: fitName(block.name) }',
    replace: '{ ...block, id: ids.next(block) }',
    red: ['call-names-1-Chat Completions', 'call-names-3-Messages', 'call-names-4-Responses'],
  },
  {
    rule: 'Kimi K2 gets ids of its own form.',
    file: 'src/models/call-ids.ts',
    find: 'this.#isKimi = KIMI.test(model);',
    replace: 'this.#isKimi = false;',
    red: ['call-ids-Kimi'],
  },
  {
    rule: 'Two calls of one answer never share an id.',
    file: 'src/models/conversation.ts',
    find: 'const own = ids.has(block.id) ?',
    replace: 'const own = false ?',
    red: ['call-ids-repeated-Messages', 'call-ids-repeated-Chat Completions'],
  },
  {
    rule: 'Half of a character is repaired at the border.',
    file: 'src/core/text.ts',
    find: 'return repaired(value) as T;',
    replace: 'return value;',
    red: ['half-message-Messages', 'half-data-Chat Completions', 'half-arguments-Responses'],
  },
  {
    rule: 'The halves of a character in two events are joined.',
    file: 'src/models/exchange.ts',
    find: 'const all = this.#half + text;',
    replace: 'const all = text;',
    red: ['half-deltas-Chat Completions', 'half-deltas-Responses', 'half-deltas-Messages'],
  },
  {
    rule: 'Opaque blocks go to their own model only.',
    file: 'src/models/conversation.ts',
    find: "return block.type === 'function-call' || block.provider === origin;",
    replace: 'return true;',
    red: ['opaque-DeepSeek', 'opaque-OpenAI-reasoning', 'opaque-Anthropic-thinking'],
  },
  {
    rule: 'The further members of a message are kept.',
    file: 'src/models/openai/output-reader.ts',
    find: 'this.#members.add(delta, this.#bounds);',
    replace: '',
    red: ['opaque-DeepSeek', 'opaque-OpenRouter', 'opaque-Mistral', 'opaque-DeepSeek-tasks'],
  },
  {
    rule: 'The further members of a call are kept.',
    file: 'src/models/openai/output-reader.ts',
    find: 'draft.members.add(fragment, this.#bounds);',
    replace: '',
    red: ['opaque-Gemini', 'opaque-LiteLLM', 'opaque-unknown'],
  },
];
