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

const agentSpec = z.strictObject({
  name: subAgentName().describe('Its name, as delegations and addresses use it.'),
  description: text().describe('What it is for, in one sentence. The words of its capabilities are added.'),
  instruction: text().describe('What it does, its input, its output, its constraints, and how it reports.'),
  prefixes: z
    .array(toolPrefix())
    .default([])
    .describe(
      'It owns each tool whose name begins with one of these. The first agent of the list that matches wins.',
    ),
  alwaysInclude: z.boolean().default(false).describe('Exists even when it owns no tool.'),
  takesUnmatched: z
    .boolean()
    .default(false)
    .describe('Also owns the tools that no prefix matches. One agent of a roster at most.'),
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
    fanOut: count().default(DEFAULT_LIMITS.fanOut).describe('Delegations at once in one round.'),
    depth: count().default(DEFAULT_LIMITS.depth).describe('Delegations that may stand above each other.'),
    turns: count().default(DEFAULT_LIMITS.turns).describe('Model answers in one task.'),
    toolCalls: count().default(DEFAULT_LIMITS.toolCalls).describe('Tool calls in one task.'),
    tokens: count()
      .default(DEFAULT_LIMITS.tokens)
      .describe('Input plus output tokens of one task and all tasks below it.'),
    seconds: seconds()
      .default(DEFAULT_LIMITS.seconds)
      .describe('Time of one task, in seconds. Waiting for a person does not count.'),
    repeats: count()
      .default(DEFAULT_LIMITS.repeats)
      .describe('The same tool with equal arguments more often than this is refused.'),
    toolOutputBytes: count()
      .default(DEFAULT_LIMITS.toolOutputBytes)
      .describe('Output of one tool call that a model gets to read, in bytes.'),
    answerTokens: count().default(DEFAULT_LIMITS.answerTokens).describe('One model answer, in tokens.'),
    historyTokens: count()
      .default(DEFAULT_LIMITS.historyTokens)
      .describe('Earlier conversation handed to a model, in estimated tokens.'),
  })
  .prefault({})
  .describe('What bounds one task. Code enforces each.');

export const agent = z
  .strictObject({
    multiAgent: z
      .boolean()
      .default(true)
      .describe('An orchestrator that delegates to sub-agents; false: one agent with all tools.'),
    roster: z
      .union([z.enum(['standard', 'classic']), agentSpecs.min(1)])
      .default('standard')
      .describe('The sub-agents: a shipped roster, or your own as a list.'),
    ownAgents: agentSpecs
      .default([])
      .describe(
        'Sub-agents besides the roster. Their prefixes are matched first; one with the name of an agent of the roster takes its place.',
      ),
    maxDelegationRounds: z
      .int()
      .min(0)
      .default(DEFAULT_LIMITS.delegationRounds)
      .describe(
        `Rounds of delegation in one task; several at once are one round. 0 means ${DEFAULT_LIMITS.delegationRounds}.`,
      ),
    promptFolder: path()
      .optional()
      .describe(
        'A folder with an AGENTS.md or TOOL_USAGE.md that replaces the shipped one (single-agent mode).',
      ),
    limits,
  })
  .prefault({})
  .describe('The agents that this server runs, and what bounds them.');

export const model = z
  .strictObject({
    provider: z
      .enum(['auto', 'offline', 'anthropic', 'openai'])
      .default('auto')
      .describe(
        'Who answers. `auto`: `anthropic` when its key is there, else `offline`, a small built-in model that needs no key.',
      ),
    name: text()
      .optional()
      .describe(
        `Which model of the provider. Default: \`${DEFAULT_ANTHROPIC_MODEL}\` for \`anthropic\`; \`openai\` needs one.`,
      ),
    baseUrl: httpUrl()
      .optional()
      .describe("Address of a compatible server, such as Ollama or vLLM. Default: the vendor's."),
    apiKey: secret('The key. Default: the variable `ANTHROPIC_API_KEY` or `OPENAI_API_KEY`.'),
    maxRetries: z
      .int()
      .min(0)
      .max(20)
      .default(3)
      .describe('Further attempts after an overload or a lost connection.'),
    timeoutSeconds: seconds()
      .default(300)
      .describe('Longest silence of the model server, before its answer and within it.'),
  })
  .prefault({})
  .describe('The language model.');
