import { z } from 'zod';
import type { AgentLimits } from '../core/agent.js';
import {
  subAgentName,
  count,
  httpUrl,
  path,
  refuseDuplicates,
  seconds,
  secret,
  text,
  toolPrefix,
} from './fields.js';

export const DEFAULT_LIMITS: AgentLimits = {
  delegationRounds: 5,
  fanOut: 16,
  depth: 5,
  turns: 40,
  toolCalls: 100,
  tokens: 1_000_000,
  seconds: 900,
  approvalSeconds: 24 * 60 * 60,
  repeats: 3,
  toolOutputBytes: 64 * 1024,
  answerTokens: 8_192,
  historyTokens: 16_000,
};

export const DEFAULT_ANTHROPIC_MODEL = 'claude-sonnet-5-5';
export const DEFAULT_OPENAI_MODEL = 'gpt-5';

const agentSpec = z.strictObject({
  name: subAgentName().describe('Its name, as delegations and addresses use it.'),
  description: text().describe('What it is for, in one sentence. Its capabilities are appended.'),
  instruction: text().describe('What it does, its input, its output, its constraints, and how it reports.'),
  prefixes: z
    .array(toolPrefix())
    .default([])
    .describe(
      'Prefixes of tool names. The agent owns every tool whose name begins with one of them. If several agents match, the first one in the list gets the tool.',
    ),
  alwaysInclude: z.boolean().default(false).describe('Include the agent even if it owns no tool.'),
  takesUnmatched: z
    .boolean()
    .default(false)
    .describe('The agent also owns the tools that no prefix matches. At most one agent of a roster.'),
});

const agentSpecs = z
  .array(agentSpec)
  .superRefine(refuseDuplicates((spec) => spec.name, ['name']))
  .superRefine((specs, context) => {
    const takers = specs.flatMap((spec, index) => (spec.takesUnmatched ? [index] : []));
    for (const index of takers.slice(1)) {
      const message = 'only one agent of a roster can take the unmatched tools';
      context.addIssue({ code: 'custom', message, path: [index, 'takesUnmatched'] });
    }
  });

const limits = z
  .strictObject({
    fanOut: count().default(DEFAULT_LIMITS.fanOut).describe('The most delegations at once in one round.'),
    depth: count()
      .default(DEFAULT_LIMITS.depth)
      .describe('The most delegations above a task: how deep agents may delegate.'),
    turns: count().default(DEFAULT_LIMITS.turns).describe('The most model answers in one task.'),
    toolCalls: count().default(DEFAULT_LIMITS.toolCalls).describe('The most tool calls in one task.'),
    tokens: count()
      .default(DEFAULT_LIMITS.tokens)
      .describe('The most input and output tokens of one task and all tasks below it.'),
    seconds: seconds()
      .default(DEFAULT_LIMITS.seconds)
      .describe('The longest time of one task, in seconds. Waiting for a person does not count.'),
    repeats: count()
      .default(DEFAULT_LIMITS.repeats)
      .describe('How often a tool may be called with equal arguments. Further calls are refused.'),
    toolOutputBytes: count()
      .default(DEFAULT_LIMITS.toolOutputBytes)
      .describe('The most output of one tool call that a model gets, in bytes.'),
    answerTokens: count()
      .default(DEFAULT_LIMITS.answerTokens)
      .describe('The longest model answer, in tokens.'),
    historyTokens: count()
      .default(DEFAULT_LIMITS.historyTokens)
      .describe('The most earlier conversation that a model gets, in estimated tokens.'),
  })
  .prefault({})
  .describe('Limits of one task. The server enforces each of them.');

export const agent = z
  .strictObject({
    multiAgent: z
      .boolean()
      .default(true)
      .describe('`true`: an orchestrator that delegates to sub-agents. `false`: one agent with all tools.'),
    roster: z
      .union([z.enum(['standard', 'classic']), agentSpecs.min(1)])
      .default('standard')
      .describe('The sub-agents: a built-in roster, or your own list.'),
    ownAgents: agentSpecs
      .default([])
      .describe(
        'Further sub-agents. Their prefixes are matched before those of the roster. One with the same name as an agent of the roster replaces it.',
      ),
    maxDelegationRounds: z
      .int()
      .min(0)
      .default(DEFAULT_LIMITS.delegationRounds)
      .describe(
        `The most rounds of delegation in one task. Delegations at the same time are one round. 0 means ${DEFAULT_LIMITS.delegationRounds}.`,
      ),
    promptFolder: path()
      .optional()
      .describe(
        'A folder with an AGENTS.md or TOOL_USAGE.md that replaces the built-in text (single-agent mode).',
      ),
    limits,
  })
  .prefault({})
  .describe('The agents of this server, and their limits.');

export const model = z
  .strictObject({
    provider: z
      .enum(['auto', 'offline', 'anthropic', 'openai'])
      .default('auto')
      .describe(
        'The vendor that answers. `auto`: `anthropic` when its key is set, else `openai` when its key is set, else `offline`, a small built-in model that needs no key. An explicit `openai` needs `model.name`.',
      ),
    name: text()
      .optional()
      .describe(
        `The provider's model. Default: \`${DEFAULT_ANTHROPIC_MODEL}\` for \`anthropic\`, \`${DEFAULT_OPENAI_MODEL}\` when \`auto\` takes \`openai\`.`,
      ),
    baseUrl: httpUrl()
      .optional()
      .describe("Address of a compatible server, such as Ollama or vLLM. Default: the vendor's."),
    apiKey: secret('The key. Default: the variable `ANTHROPIC_API_KEY` or `OPENAI_API_KEY`.'),
    maxRetries: z.int().min(0).max(20).default(3).describe('Retries after an overload or a lost connection.'),
    timeoutSeconds: seconds()
      .default(300)
      .describe('The longest wait for the model server to send something, before and during its answer.'),
  })
  .prefault({})
  .describe('The language model.');
