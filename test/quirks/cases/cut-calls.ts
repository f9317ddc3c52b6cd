import { expect } from '@jest/globals';
import { DONE, openaiChunk, openaiUsage } from '../../support/openai-wire.js';
import type { Quirk } from '../quirk.js';
import { ask, type Told } from '../strict-vendor.js';
import { MODEL_WIRES, streamOf, type ModelWireName, type VendorAnswer } from '../vendor-streams.js';

/** The words of the wires for the limit of an output, and for a full window. */
const LIMIT = {
  'Chat Completions': 'length',
  Responses: 'max_output_tokens',
  Messages: 'max_tokens',
} as const;
const WINDOW = 'model_context_window_exceeded';

const VENDOR = { 'Chat Completions': 'OpenAI', Responses: 'OpenAI', Messages: 'Anthropic' } as const;

/** The public reports of calls that were made although a limit had cut them. */
const SOURCES = {
  'Chat Completions': 'aaif-goose/goose#11838',
  Responses: 'OpenRouterTeam/typescript-agent#125',
  Messages: 'mattmezza/humux#77',
} as const;

const DONE_ANSWER: VendorAnswer = { text: 'Done.' };

/** The file names that the model was shown, after the calls of the first answer. */
async function afterCut(wire: ModelWireName, first: VendorAnswer): Promise<Told> {
  const told = await ask({ wire, answers: [first, { calls: [{ name: 'fs_list' }] }, DONE_ANSWER] });
  expect([told.state, told.text, told.refused]).toEqual(['completed', 'Done.', []]);
  return told;
}

const TEXTS = [
  ['none', ''],
  ['half', '{"path":"FILE","content":"<html><bo'],
  ['closed', '{"path":"FILE","content":"<html>"}'],
] as const;

const cut = MODEL_WIRES.flatMap((wire) =>
  TEXTS.map(([what, text]): Quirk => ({
    id: `cut-call-${what}-${wire}`,
    class: 1,
    wire,
    vendor: VENDOR[wire],
    source: SOURCES[wire],
    quirk: `The limit of the output ends the stream after ${what === 'none' ? 'the name of a call' : `arguments that are ${what === 'half' ? 'broken JSON' : 'JSON by chance'}`}.`,
    right: 'The call is not made; its result names the limit and what fits.',
    async check() {
      const file = `cut-${what}-${wire.replace(' ', '')}.html`;
      const told = await afterCut(wire, {
        text: 'I write.',
        calls: [{ name: 'fs_write', arguments: text.replace('FILE', file), isOpen: true }],
        stop: LIMIT[wire],
      });
      expect(told.results[0]).toMatch(/not made.*8192 tokens \(agent\.limits\.answerTokens\).*24576 char/);
      expect(told.results[1]).not.toContain(file);
    },
  })),
);

const closed = MODEL_WIRES.map((wire): Quirk => ({
  id: `cut-after-closed-${wire}`,
  class: 1,
  wire,
  vendor: VENDOR[wire],
  source: '14790897/MiqroForge-Desktop#1100',
  quirk: 'The limit of the output ends the stream in the second of two calls.',
  right: 'The call that was closed before is made, the open one is not.',
  async check() {
    const told = await afterCut(wire, {
      calls: [
        { name: 'crypto_hash', arguments: { text: 'a' } },
        { name: 'crypto_hash', arguments: '{"text":"b"}', isOpen: true },
      ],
      stop: LIMIT[wire],
    });
    expect(told.results[0]).toMatch(/[0-9a-f]{64}/);
    expect(told.results[1]).toMatch(/not made/);
  },
}));

const windows = (['Chat Completions', 'Messages'] as const).map((wire): Quirk => ({
  id: `cut-by-window-${wire}`,
  class: 1,
  wire,
  vendor: wire === 'Messages' ? 'Anthropic' : 'Z.ai',
  source: 'anomalyco/opencode#18918',
  quirk: 'The context window is full in the middle of a call, and the API has a reason of its own for that.',
  right: 'The call is not made; its result says that the window was full.',
  async check() {
    const told = await afterCut(wire, {
      calls: [{ name: 'crypto_hash', arguments: '{"text":"b"}', isOpen: true }],
      stop: WINDOW,
    });
    expect(told.results[0]).toMatch(/not made: the context window was full/);
  },
}));

const whole = MODEL_WIRES.map((wire): Quirk => ({
  id: `call-without-arguments-${wire}`,
  class: 1,
  wire,
  vendor: VENDOR[wire],
  source: 'jaseci-labs/jac#6766',
  quirk: 'A whole call of a function without arguments has an empty text of arguments.',
  right: 'It is made: the output ended by itself.',
  async check() {
    const told = await afterCut(wire, { calls: [{ name: 'fs_list', arguments: '' }] });
    expect(told.results[0]).not.toMatch(/not made|invalid/);
  },
}));

const calling = (index: number, text: string, name?: string) =>
  openaiChunk({
    tool_calls: [
      { index, ...(name && { id: `c${index}`, type: 'function' }), function: { name, arguments: text } },
    ],
  });

/** A stream of Chat Completions after which the model lists the files. */
const chatCase = (
  one: Omit<Quirk, 'class' | 'wire' | 'check'>,
  stream: string,
  results: readonly RegExp[],
): Quirk => ({
  ...one,
  class: 1,
  wire: 'Chat Completions',
  async check() {
    const told = await ask({ wire: 'Chat Completions', answers: [{ stream }, DONE_ANSWER] });
    expect([told.state, told.refused]).toEqual(['completed', []]);
    expect(told.results).toEqual(results.map((words) => expect.stringMatching(words)));
  },
});

const odd: readonly Quirk[] = [
  chatCase(
    {
      id: 'cut-interleaved',
      vendor: 'vLLM',
      source: 'QwenLM/Qwen-Agent#943',
      quirk: 'Parallel calls grow at the same time, so that a later call does not close an earlier one.',
      right: 'None of them is made when the limit ends the stream.',
    },
    [
      calling(0, '{"text":', 'crypto_hash'),
      calling(1, '{"text":', 'crypto_hash'),
      calling(0, '"a"}'),
      calling(1, '"b"}'),
      openaiChunk({}, 'length') + DONE,
    ].join(''),
    [/not made/, /not made/],
  ),
  chatCase(
    {
      id: 'cut-before-interleaving',
      vendor: 'vLLM',
      source: 'continuedev/continue#13223',
      quirk:
        'The names of parallel calls come before all of their arguments, and the limit ends the stream between.',
      right: 'A call without arguments is not closed by the next one.',
    },
    calling(0, '', 'fs_list') + calling(1, '', 'fs_list') + openaiChunk({}, 'length') + DONE,
    [/not made/, /not made/],
  ),
  chatCase(
    {
      id: 'cut-with-whole-reason',
      vendor: 'vLLM',
      source: 'vllm-project/vllm#53269',
      quirk: 'An output with calls ends with "tool_calls" even when the limit cut it.',
      right: 'The call is not made, since the reported tokens are the limit of the output.',
    },
    calling(0, '', 'fs_list') +
      openaiChunk({}, 'tool_calls') +
      openaiUsage({ prompt_tokens: 9, completion_tokens: 8_192 }) +
      DONE,
    [/not made.*answerTokens/],
  ),
];

const lost = MODEL_WIRES.map((wire): Quirk => ({
  id: `cut-by-connection-${wire}`,
  class: 1,
  wire,
  vendor: 'any',
  source: 'NVIDIA-NeMo/Switchyard#796',
  quirk: 'The connection ends after a call whose arguments are whole JSON.',
  right: 'The call is not made, since the output never ended.',
  async check() {
    const stream = streamOf(wire, {
      text: 'I hash.',
      calls: [{ name: 'crypto_hash', arguments: { text: 'a' } }],
    });
    const end = /(data: .*"finish_reason":"tool_calls"|event: message_delta|event: response\.completed)/.exec(
      stream,
    );
    const told = await ask({ wire, answers: [{ stream: stream.slice(0, end!.index) }, DONE_ANSWER] });
    expect([told.state, told.requests.length]).toEqual(['failed', 1]);
    expect(told.outcome.events.filter(({ type }) => type === 'activity')).toEqual([]);
  },
}));

export const CUT_CALLS: readonly Quirk[] = [...cut, ...closed, ...windows, ...whole, ...odd, ...lost];
