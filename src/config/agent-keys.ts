import { z } from 'zod';
import {
  KIB,
  agentName,
  count,
  distinct,
  flag,
  group,
  httpUrl,
  list,
  optional,
  path,
  seconds,
  subAgentName,
  text,
  toolPrefix,
} from '../core/fields.js';
import { otherModel } from './model-keys.js';

/** The meaning of 0 in `agent.maxDelegationRounds`. */
export const DEFAULT_ROUNDS = 5;

export const cardDetails = z.strictObject({
  version: optional(text(), 'The version of the agent. Default: that of Lango.'),
  provider: z
    .strictObject({
      organization: text().describe('The name of the organization that offers the agent.'),
      url: optional(httpUrl(), 'Its web site. Default: the address of the server.'),
    })
    .optional()
    .describe('The organization that offers the agent. Default: none.'),
  iconUrl: optional(httpUrl(), 'The address of an image for the agent. Default: none.'),
  documentationUrl: optional(httpUrl(), 'The address of a page about the agent. Default: none.'),
});

const agentSpec = z.strictObject({
  name: subAgentName().describe('Its name, as delegations and addresses use it.'),
  description: text().describe('The purpose of the agent, in one sentence. Its capabilities are appended.'),
  instruction: text().describe(
    'Its instruction: what it does, its input and output, its constraints, and how it reports.',
  ),
  prefixes: list(
    z.array(toolPrefix()),
    'Prefixes of tool names. The agent owns every tool whose name begins with one of them. If several agents match, the first one in the list gets the tool. An agent without prefixes has a model and no tools.',
  ),
  alwaysInclude: flag(false, 'Include the agent even if it owns no tool.'),
  takesUnmatched: flag(
    false,
    'The agent also owns the tools that no prefix matches. At most one agent of a roster.',
  ),
  output: optional(
    z.record(z.string(), z.json()),
    'JSON Schema of an object, for an agent whose answers are data. Default: they are text.',
  ),
  card: cardDetails.optional().describe('Further members of the card of the agent. Default: none.'),
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
    'The most model answers in one task, and the most replies to the questions of one agent below it.',
  ),
  toolCalls: count(100, 'The most tool calls in one task.'),
  tokens: count(1_000_000, 'The most input and output tokens of one task and all tasks below it.'),
  cost: optional(
    z.number().positive(),
    'The most money that the models of one task and all tasks below it may cost, in `bill.currency`. Needs the price of the model. Default: no limit.',
  ),
  ownerCostPerDay: optional(
    z.number().positive(),
    'The most money that the models of all tasks of one owner may cost in a day (UTC), in `bill.currency`. Needs the price of the model. Default: no limit.',
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
  ownAgents: list(
    agentSpecs,
    'Further sub-agents. Their prefixes are matched before those of the roster. One with the same name as an agent of the roster replaces it.',
  ),
  models: z
    .record(agentName(), otherModel)
    .default({})
    .describe(
      'Models of single agents, by the names of the agents: the name of a model, or the keys below. Keys that an entry leaves out are as in `model`. Default: all agents have the model of `model`.',
    ),
  maxDelegationRounds: count(
    DEFAULT_ROUNDS,
    `The most rounds of delegation in one task. Delegations at the same time are one round. 0 means ${DEFAULT_ROUNDS}.`,
    { min: 0 },
  ),
  describedTools: count(
    40,
    'The most tools of MCP servers, skills and your program that each request of an agent describes to its model. With more, the agent finds those that it needs with `find_functions`.',
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
