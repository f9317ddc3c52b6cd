import { listIn, objectIn, textIn } from '../../core/json.js';
import { textOf } from '../../core/message.js';
import { functionCalls } from '../../core/model.js';
import type { FunctionCall, FunctionSpec, ModelMessage, ModelRequest } from '../../core/model.js';
import { labeled, outline, quoted, readable, refusal, smallTalk, type Offers } from './texts.js';
import { MAX_STEPS, PLAN, readRequest, TRANSFER, type SentenceTable, type Step } from './request.js';

/** Returns the agent that owns a tool; undefined when no agent does. */
export type AgentOf = (tool: string) => string | undefined;

export type OfflineRules = Readonly<{ agentOf: AgentOf; table: SentenceTable }>;

/** The model's output: text, a refusal with its reason, or calls. */
export type Decision =
  | { readonly type: 'text' | 'refusal'; readonly text: string }
  | { readonly type: 'calls'; readonly calls: readonly FunctionCall[] };

/** The planning agent of the shipped rosters. */
const PLANNER = 'planner';
const ID_PREFIX = 'offline_';
const UNREAD = 'The offline model reads text only. It did not read the files and data of the message.';
const NO_RESULT = { content: 'No result came back.', isError: true };

/** Decides from the request alone: the same request gets the same output, ids of calls included. */
export function decide({ functions, messages }: ModelRequest, { agentOf, table }: OfflineRules): Decision {
  const current = currentRequest(messages);
  const agents = agentsIn(functions);
  const isTeam = agents !== undefined || current.calls.some(({ name }) => name === TRANSFER);
  const ownerOf: AgentOf = (tool) => (tool === PLAN ? PLANNER : agentOf(tool));
  const has = isTeam ? teamOffers(agents ?? [], ownerOf) : toolOffers(functions);
  const offers = { table, has };
  const steps = readRequest(current.text, table);
  const jobs = isTeam ? delegations(current.text, steps, ownerOf) : steps;
  if (current.calls.length === 0) {
    const reply = smallTalk(current.text, offers);
    if (reply !== undefined) return { type: 'text', text: reply };
    const obstacle = obstacleTo(jobs, agents, offers);
    if (obstacle !== undefined) return { type: 'refusal', text: refusal(obstacle, offers) };
  }
  return work(jobs, current, { isTeam, offers });
}

type CurrentRequest = ReturnType<typeof currentRequest>;

/** Finds the newest message of the user and the calls since then. */
function currentRequest(messages: readonly ModelMessage[]) {
  const start = messages.findLastIndex(({ role }) => role === 'user');
  const since = messages.slice(start + 1);
  const parts = messages.slice(start, start + 1).flatMap((each) => (each.role === 'user' ? each.parts : []));
  const results = since.flatMap((each) => (each.role === 'results' ? each.results : []));
  return {
    text: textOf(parts.filter(({ filename }) => filename === undefined)).trim(),
    hasAttachments: parts.some(({ kind, filename }) => kind !== 'text' || filename !== undefined),
    /** The calls that this model made for it so far, in order. */
    calls: callsIn(since).filter(({ id }) => id.startsWith(ID_PREFIX)),
    resultOf: ({ id }: FunctionCall) => {
      const { content, isError } = results.find((result) => result.id === id) ?? NO_RESULT;
      return { text: readable(content), isError };
    },
    /** The ids of all calls of the conversation. */
    usedIds: new Set(callsIn(messages).map(({ id }) => id)),
  };
}

function callsIn(messages: readonly ModelMessage[]): readonly FunctionCall[] {
  return messages.flatMap((each) => (each.role === 'assistant' ? functionCalls(each.content) : []));
}

/** The names that the delegation function takes; undefined for an agent that cannot delegate. */
function agentsIn(functions: readonly FunctionSpec[]): readonly string[] | undefined {
  const transfer = functions.find(({ name }) => name === TRANSFER);
  const agent = objectIn(transfer?.parameters['properties'])['agent_name'];
  return transfer && listIn(objectIn(agent)['enum']).map(String);
}

type Has = Offers['has'];

/** `skill_{name}` in the table stands for every tool whose name begins with `skill_`, `{tool}` for every tool. */
function toolOffers(functions: readonly FunctionSpec[]): Has {
  return (tool) => {
    const [prefix = '', ...rest] = tool.split('{');
    if (rest.length > 0) return functions.some(({ name }) => name.startsWith(prefix));
    return tool === PLAN || functions.some(({ name }) => name === tool);
  };
}

function teamOffers(agents: readonly string[], ownerOf: AgentOf): Has {
  return (tool) =>
    tool === TRANSFER || tool === '{tool}' ? agents.length > 0 : agents.includes(ownerOf(tool) ?? '');
}

/** Returns one final delegation when a single agent owns the tools of all steps, else one delegation for each step. */
function delegations(text: string, steps: readonly Step[], ownerOf: AgentOf): readonly Step[] {
  const owners = steps.map(({ call }) => call && call.name !== TRANSFER && ownerOf(call.name));
  const [owner] = owners;
  if (owner && owners.every((other) => other === owner))
    return [delegation(owner, { text, isParallel: false })];
  const isOnly = steps.length === 1;
  return steps.map((step, index) => {
    const { call } = step;
    if (!call) return step;
    if (call.name !== TRANSFER) return delegation(owners[index] || '', step, isOnly);
    return { ...step, call: { ...call, arguments: { ...call.arguments, final: isOnly } } };
  });
}

function delegation(owner: string, step: Omit<Step, 'call'>, final = true): Step {
  return { ...step, call: { name: TRANSFER, arguments: { agent_name: owner, request: step.text, final } } };
}

/** Returns why a request is refused; undefined when all of its steps can be done. No step runs unless all can. */
function obstacleTo(jobs: readonly Step[], agents: readonly string[] | undefined, offers: Offers) {
  if (jobs.length === 0) return 'The message holds no text.';
  if (jobs.length > MAX_STEPS) return `The message asks for more than ${MAX_STEPS} steps.`;
  for (const { text, call } of jobs) {
    if (!call) return `I do not understand ${quoted(text)}.`;
    const agent = call.name === TRANSFER ? textIn(call.arguments['agent_name']) : undefined;
    if (agent === '') return `No agent of this server has the tool for ${quoted(text)}.`;
    if (agents && agent !== undefined && !agents.includes(agent)) {
      return `${quoted(text)} is for the agent ${agent}, which this server cannot reach. The agents are: ${agents.join(', ')}.`;
    }
    if (!offers.has(call.name))
      return `${quoted(text)} needs the tool ${call.name}, which this server does not have.`;
  }
  return undefined;
}

type DoneStep = Readonly<{ job: Step; text: string; isError: boolean }>;

/** Returns the calls of the first round that is not done yet, else the report. A failed round is the last one. */
function work(
  jobs: readonly Step[],
  current: CurrentRequest,
  { isTeam, offers }: { readonly isTeam: boolean; readonly offers: Offers },
): Decision {
  const made = [...current.calls];
  const done: DoneStep[] = [];
  for (const round of roundsOf(jobs)) {
    const open: Step[] = [];
    for (const job of round) {
      const goal = job.call?.name === PLAN ? textIn(job.call.arguments['goal']) : undefined;
      const call = goal === undefined ? made.shift() : undefined;
      if (goal !== undefined) done.push({ job, text: outline(goal), isError: false });
      else if (call) done.push({ job, ...current.resultOf(call) });
      else open.push(job);
    }
    if (open.length > 0 && open.every(({ call }) => call && offers.has(call.name))) {
      return { type: 'calls', calls: toCalls(open, current.usedIds) };
    }
    if (open.length > 0 || done.some(({ isError }) => isError)) break;
  }
  // An orchestrator whose delegations all failed has not completed the request.
  const type = isTeam && done.every(({ isError }) => isError) ? 'refusal' : 'text';
  return { type, text: report(jobs, done, current.hasAttachments) };
}

function roundsOf(jobs: readonly Step[]): readonly (readonly Step[])[] {
  const rounds: Step[][] = [];
  for (const job of jobs) {
    if (job.isParallel && rounds.length > 0) rounds.at(-1)!.push(job);
    else rounds.push([job]);
  }
  return rounds;
}

/** Gives the calls ids that are unique in the conversation: a vendor refuses a history with the same id twice. */
function toCalls(jobs: readonly Step[], usedIds: ReadonlySet<string>): readonly FunctionCall[] {
  let number = usedIds.size;
  return jobs.flatMap(({ call }) => {
    if (!call) return [];
    do number += 1;
    while (usedIds.has(`${ID_PREFIX}${number}`));
    return [{ type: 'function-call', id: `${ID_PREFIX}${number}`, ...call }];
  });
}

/** The results in the order of the steps, then the steps that were not done. */
function report(jobs: readonly Step[], done: readonly DoneStep[], hasAttachments: boolean): string {
  const lines = done.map(({ job, text, isError }, index) => {
    if (isError) return `I could not do this: ${quoted(job.text)}\n${text}`;
    if (jobs.length === 1) return text || 'Done.';
    return labeled(`${index + 1}. ${job.text}`, text || 'done');
  });
  const left = jobs.filter((job) => !done.some((one) => one.job === job)).map(({ text }) => quoted(text));
  if (left.length > 0) lines.push(`Not done: ${left.join(', ')}.`);
  return (hasAttachments ? [...lines, UNREAD] : lines).join('\n\n');
}
