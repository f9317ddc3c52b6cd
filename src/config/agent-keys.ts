import { z } from 'zod';
import {
  KIB,
  choice,
  count,
  distinct,
  flag,
  group,
  httpUrl,
  list,
  optional,
  path,
  seconds,
  secret,
  subAgentName,
  text,
  toolPrefix,
} from './fields.js';

/** The meaning of 0 in `agent.maxDelegationRounds`. */
export const DEFAULT_ROUNDS = 5;
export const DEFAULT_ANTHROPIC_MODEL = 'claude-sonnet-5-5';
export const DEFAULT_OPENAI_MODEL = 'gpt-5';

const agentSpec = z.strictObject({
  name: subAgentName().describe('Its name, as delegations and addresses use it.'),
  description: text().describe('What it is for, in one sentence. Its capabilities are appended.'),
  instruction: text().describe('What it does, its input, its output, its constraints, and how it reports.'),
  prefixes: list(
    z.array(toolPrefix()),
    'Prefixes of tool names. The agent owns every tool whose name begins with one of them. If several agents match, the first one in the list gets the tool.',
  ),
  alwaysInclude: flag(false, 'Include the agent even if it owns no tool.'),
  takesUnmatched: flag(
    false,
    'The agent also owns the tools that no prefix matches. At most one agent of a roster.',
  ),
});

const agentSpecs = distinct(agentSpec, (spec) => spec.name, ['name']).superRefine((specs, context) => {
  const takers = specs.flatMap((spec, index) => (spec.takesUnmatched ? [index] : []));
  for (const index of takers.slice(1)) {
    const message = 'only one agent of a roster can take the unmatched tools';
    context.addIssue({ code: 'custom', message, path: [index, 'takesUnmatched'] });
  }
});

const limits = group('Limits of one task. The server enforces each of them.', {
  fanOut: count(16, 'The most delegations at once in one round.'),
  depth: count(5, 'The most delegations above a task: how deep agents may delegate.'),
  turns: count(
    40,
    'The most model answers in one task, and the most answers to the questions of one agent below it.',
  ),
  toolCalls: count(100, 'The most tool calls in one task.'),
  tokens: count(1_000_000, 'The most input and output tokens of one task and all tasks below it.'),
  cost: optional(
    z.number().positive(),
    'The most money that the models of one task and all tasks below it may cost, in `bill.currency`. Needs the price of the model. Default: no limit.',
  ),
  seconds: seconds(900, 'The longest time of one task, in seconds. Waiting for a person does not count.'),
  repeats: count(3, 'How often a tool may be called with equal arguments. Further calls are refused.'),
  toolOutputBytes: count(64 * KIB, 'The most output of one tool call that a model gets, in bytes.'),
  answerTokens: count(8_192, 'The longest model answer, in tokens.'),
  historyTokens: count(16_000, 'The most earlier conversation that a model gets, in estimated tokens.'),
});

export const agent = group('The agents of this server, and their limits.', {
  multiAgent: flag(
    true,
    '`true`: an orchestrator that delegates to sub-agents. `false`: one agent with all tools.',
  ),
  roster: z
    .union([z.enum(['standard', 'classic']), agentSpecs.min(1)])
    .default('standard')
    .describe('The sub-agents: a built-in roster, or your own list.'),
  ownAgents: agentSpecs
    .default([])
    .describe(
      'Further sub-agents. Their prefixes are matched before those of the roster. One with the same name as an agent of the roster replaces it.',
    ),
  maxDelegationRounds: count(
    DEFAULT_ROUNDS,
    `The most rounds of delegation in one task. Delegations at the same time are one round. 0 means ${DEFAULT_ROUNDS}.`,
    { min: 0 },
  ),
  promptFolder: optional(
    path(),
    'A folder with an AGENTS.md or TOOL_USAGE.md that replaces the built-in text (single-agent mode).',
  ),
  houseRules: optional(
    text(),
    'Rules for all agents of this node, as a text: language, tone, what not to do. Default: none.',
  ),
  houseRulesFile: optional(path(), 'A file with further rules for all agents of this node. Default: none.'),
  limits,
});

const price = z.number().nonnegative();

export const prices = z
  .record(
    z.string(),
    z.strictObject({
      input: price.describe('A million tokens of input.'),
      output: price.describe('A million tokens of output.'),
      cacheRead: optional(price, "A million tokens of input read from the vendor's cache. Default: `input`."),
      cacheWrite: optional(
        price,
        "A million tokens of input written to the vendor's cache. Default: `input`.",
      ),
    }),
  )
  .default({})
  .describe(
    "What models cost, by their names, in `bill.currency`. Default: the vendors' list prices in US dollars, as far as this version knows them.",
  );

export const bill = group('How money is counted.', {
  currency: text().default('USD').describe('The currency of `prices` and of limits of cost.'),
});

export const model = group('The language model.', {
  provider: choice(
    ['auto', 'offline', 'anthropic', 'openai'],
    'auto',
    'The vendor that answers. `auto`: `anthropic` when its key is set, else `openai` when its key is set, else `offline`, a small built-in model that needs no key. An explicit `openai` needs `model.name`.',
  ),
  name: optional(
    text(),
    `The provider's model. Default: \`${DEFAULT_ANTHROPIC_MODEL}\` for \`anthropic\`, \`${DEFAULT_OPENAI_MODEL}\` when \`auto\` takes \`openai\`.`,
  ),
  baseUrl: optional(
    httpUrl(),
    "Address of a compatible server, such as Ollama or vLLM. Default: the vendor's.",
  ),
  apiKey: secret('The key. Default: the variable `ANTHROPIC_API_KEY` or `OPENAI_API_KEY`.'),
  images: flag(
    true,
    'Whether the model reads images. With `false` the agents take none: their cards leave the types of images out.',
  ),
  maxRetries: count(3, 'Retries after an overload or a lost connection.', { min: 0, max: 20 }),
  timeoutSeconds: seconds(
    300,
    'The longest wait for the model server to send something, before and during its answer.',
  ),
});
