import { expect } from '@jest/globals';
import { status } from '../../support/scripted-server.js';
import type { Quirk } from '../quirk.js';
import { answerIn, ask } from '../strict-vendor.js';
import { MODEL_WIRES, streamOf, type ModelWireName } from '../vendor-streams.js';

type Named = Pick<Quirk, 'id' | 'vendor' | 'source' | 'quirk'>;

const ANSWER = 'Forty-two.';
const SECRET = 'The user wants a number. SECRETTHOUGHT';

/** A text whose thoughts are split off: the person gets the rest, and later requests hold no word of the thoughts. */
function split(
  wire: ModelWireName,
  named: Named,
  { text, answer = ANSWER }: { text: string; answer?: string },
): Quirk {
  return {
    ...named,
    ...{ class: 13, wire, id: `thoughts-${named.id}` },
    right: 'The thoughts are neither shown nor sent back as text.',
    async check() {
      const told = await ask({ wire, answers: [{ text }] });
      expect([told.state, told.requests.length, await answerIn(told)]).toEqual(['completed', 1, answer]);
      const later = await ask({ wire, answers: [{ text: 'Yes.' }], contextId: told.contextId });
      const sent = JSON.stringify(later.requests[0]!.body);
      expect([later.refused, sent.includes(answer), sent.includes('SECRET')]).toEqual([[], true, false]);
    },
  };
}

const FORMS: readonly (readonly [id: string, vendor: string, source: string, text: string])[] = [
  ['think', 'Ollama', 'ollama/ollama#18044', `<think>\n${SECRET}\n</think>\n\n${ANSWER}`],
  ['lone', 'LM Studio', 'lmstudio-ai/lmstudio-bug-tracker#1569', `${SECRET}\n</think>\n\n${ANSWER}`],
  ['lone-end-of-line', 'vLLM', 'anomalyco/opencode#1528', `${SECRET}</think>\n${ANSWER}`],
  ['lone-start-of-line', 'SGLang', 'anomalyco/opencode#1528', `${SECRET}\n</think>${ANSWER}`],
  ['empty', 'Qwen', 'ollama/ollama#18044', `<think>\n\n</think>\n\n${ANSWER}`],
];

const everywhere = MODEL_WIRES.flatMap((wire) =>
  FORMS.map(([id, vendor, source, text]) =>
    split(
      wire,
      {
        id: `${id}-${wire}`,
        vendor,
        source,
        quirk: `The text of the answer begins with thoughts: ${JSON.stringify(text)}.`,
      },
      { text },
    ),
  ),
);

const OTHERS: readonly (readonly [id: string, vendor: string, source: string, text: string])[] = [
  [
    'thinking',
    'Claude behind a gateway',
    'anomalyco/opencode#1528',
    `<thinking>${SECRET}</thinking>${ANSWER}`,
  ],
  [
    'thought',
    'Gemini',
    'The page "OpenAI compatibility" of the Gemini API',
    `<thought>\n${SECRET}</thought>\n${ANSWER}`,
  ],
  ['seed', 'Seed-OSS', 'The model card of Seed-OSS', `<seed:think>${SECRET}</seed:think>${ANSWER}`],
  ['magistral', 'Mistral', 'The model card of Magistral Small', `[THINK]${SECRET}[/THINK]${ANSWER}`],
  ['magistral-lone', 'Mistral', 'The model card of Magistral Small', `${SECRET}\n[/THINK]\n${ANSWER}`],
  ['kimi-vl', 'Moonshot', 'The model card of Kimi-VL', `◁think▷${SECRET}◁/think▷\n${ANSWER}`],
  [
    'cohere',
    'Cohere',
    'The model card of Command A Reasoning',
    `<|START_THINKING|>${SECRET}<|END_THINKING|><|START_RESPONSE|>${ANSWER}`,
  ],
  [
    'openthinker',
    'OpenThinker',
    'The model card of OpenThinker',
    `<|begin_of_thought|>${SECRET}<|end_of_thought|>\n<|begin_of_solution|>${ANSWER}`,
  ],
  [
    'harmony',
    'gpt-oss',
    'vllm-project/vllm#26083',
    `<|channel|>analysis<|message|>${SECRET}<|end|><|start|>assistant<|channel|>final<|message|>${ANSWER}`,
  ],
  [
    'harmony-no-end',
    'gpt-oss',
    'vllm-project/vllm#23167',
    `<|channel|>analysis<|message|>${SECRET}<|start|>assistant<|channel|>final<|message|>${ANSWER}`,
  ],
  ['harmony-final', 'gpt-oss', 'ollama/ollama#11800', `<|channel|>final<|message|>${ANSWER}`],
  ['gemma', 'Gemma', 'The model card of Gemma 4', `<|channel>thought\n${SECRET}<channel|>${ANSWER}`],
  [
    'twice',
    'DeepSeek',
    'ollama/ollama#18044',
    `<think>${SECRET}</think>\n<think>${SECRET}</think>\n${ANSWER}`,
  ],
  ['tag-inside', 'Qwen', 'ollama/ollama#18044', `<think>I write <think> first. ${SECRET}</think>${ANSWER}`],
];

const others = OTHERS.map(([id, vendor, source, text]) =>
  split(
    'Chat Completions',
    { id, vendor, source, quirk: `The text of the answer begins with thoughts: ${JSON.stringify(text)}.` },
    { text },
  ),
);

/** Texts with a tag that is no thought. */
const TEXTS: readonly (readonly [id: string, text: string])[] = [
  ['in-code', 'A template:\n```\n<think>\nplan\n</think>\n```\nThat is all.'],
  ['closing-in-code', 'A template ends so:\n```\nplan\n</think>\n```\nThat is all.'],
  ['inline-code', 'Close the block with `</think>`\nand go on.'],
  ['in-a-line', 'The tag </think> ends the thoughts.'],
  ['pair-in-the-middle', 'This is XML:\n<think>\na\n</think>\nGood.'],
  ['other-tag', '<thinker>no</thinker> is not a tag of thoughts.'],
  ['beginning-of-a-tag', '<thi'],
  ['less-than', '<3 is a heart.'],
  ['blank-start', '  Indented.'],
];

const texts = TEXTS.map(([id, text]): Quirk => ({
  ...{
    id: `text-${id}`,
    class: 13,
    wire: 'Chat Completions',
    vendor: 'any',
    source: 'anomalyco/opencode#1528',
  },
  quirk: `An answer names a tag of thoughts: ${JSON.stringify(text)}.`,
  right: 'It is text.',
  async check() {
    const told = await ask({ wire: 'Chat Completions', answers: [{ text }] });
    expect([told.state, await answerIn(told)]).toEqual(['completed', text]);
  },
}));

const shape: readonly Quirk[] = [
  {
    ...{
      id: 'thoughts-with-call',
      class: 13,
      wire: 'Chat Completions',
      vendor: 'Qwen',
      source: 'ollama/ollama#18044',
    },
    quirk: 'Thoughts in tags come before a call.',
    right: 'The call is made, and the thoughts are not sent back beside it.',
    async check() {
      const told = await ask({
        wire: 'Chat Completions',
        answers: [{ text: `<think>${SECRET}</think>`, calls: [{ name: 'fs_list' }] }, { text: ANSWER }],
      });
      expect([told.state, told.text, told.refused]).toEqual(['completed', ANSWER, []]);
      expect(JSON.stringify(told.requests[1]!.body)).not.toMatch(/SECRET|think>/);
    },
  },
  {
    ...{
      id: 'thoughts-alone',
      class: 13,
      wire: 'Chat Completions',
      vendor: 'Qwen',
      source: 'NousResearch/hermes-agent#6488',
    },
    quirk: 'A model ends after its thoughts, without the closing tag.',
    right: 'That is an empty answer: it is asked once more, and the thoughts are not shown.',
    async check() {
      const told = await ask({
        wire: 'Chat Completions',
        answers: [{ text: `<think>${SECRET}` }, { text: ANSWER }],
      });
      expect([told.state, told.requests.length, await answerIn(told)]).toEqual(['completed', 2, ANSWER]);
    },
  },
  {
    ...{
      id: 'thoughts-lone-at-end',
      class: 13,
      wire: 'Chat Completions',
      vendor: 'Qwen',
      source: 'lmstudio-ai/lmstudio-bug-tracker#1569',
    },
    quirk: 'A model ends after its thoughts, with the closing tag alone.',
    right: 'The thoughts that were shown are taken back, also when no answer follows.',
    async check() {
      const told = await ask({ wire: 'Chat Completions', answers: [{ text: `${SECRET}\n</think>` }] });
      expect([told.state, told.requests.length]).toEqual(['failed', 2]);
      expect(await answerIn(told)).not.toContain('SECRET');
    },
  },
  {
    ...{
      id: 'thoughts-not-streamed',
      class: 13,
      wire: 'Chat Completions',
      vendor: 'local servers',
      source: 'lmstudio-ai/lmstudio-bug-tracker#1569',
    },
    quirk: 'A server that does not stream sends thoughts and answer as one text.',
    right: 'The thoughts are split off all the same.',
    async check() {
      const message = { role: 'assistant', content: `${SECRET}\n</think>\n\n${ANSWER}` };
      const body = { choices: [{ index: 0, message, finish_reason: 'stop' }] };
      const told = await ask({ wire: 'Chat Completions', answers: [status(200, body)] });
      expect([told.state, await answerIn(told)]).toEqual(['completed', ANSWER]);
    },
  },
  ...(['think', 'lone'] as const).map((id): Quirk => {
    const [, vendor, source, text] = FORMS.find(([form]) => form === id)!;
    return {
      ...{ id: `thoughts-by-letter-${id}`, class: 13, wire: 'Chat Completions', vendor, source },
      quirk: 'Each letter of the tags comes in a delta of its own.',
      right: 'The tags are found all the same.',
      async check() {
        const stream = [...text].map(
          (letter) => streamOf('Chat Completions', { text: letter }).split('\n\n')[1],
        );
        const end = streamOf('Chat Completions', {}).split('\n\n').slice(1);
        const told = await ask({
          wire: 'Chat Completions',
          answers: [{ stream: [...stream, ...end].join('\n\n') }],
        });
        expect([told.state, await answerIn(told)]).toEqual(['completed', ANSWER]);
      },
    };
  }),
  {
    ...{
      id: 'thoughts-in-limit',
      class: 13,
      wire: 'Chat Completions',
      vendor: 'Qwen',
      source: 'BerriAI/litellm#37710',
    },
    quirk: 'The limit of the output ends the thoughts in tags.',
    right: 'The task fails and names the limit; the thoughts are not shown.',
    async check() {
      const told = await ask({
        wire: 'Chat Completions',
        answers: [{ text: `<think>${SECRET}`, stop: 'length' }],
      });
      expect([told.state, told.requests.length, await answerIn(told)]).toEqual(['failed', 1, '']);
      expect(told.text).toMatch(/agent\.limits\.answerTokens/);
    },
  },
];

export const THOUGHTS: readonly Quirk[] = [...everywhere, ...others, ...texts, ...shape];
