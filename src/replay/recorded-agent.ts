import { makeAgent, type LoopAgent } from '../agents/agent.js';
import type { AgentFunction } from '../agents/agent-function.js';
import { askUser, declineRequest } from '../agents/control-functions.js';
import { Delegations } from '../agents/delegation.js';
import { OUTPUT_ARTIFACT_ID, WRONG_OUTPUT, type OutputReader } from '../agents/output.js';
import { FLAT_AGENT_NAME, ORCHESTRATOR_NAME, type AgentLimits, type PeerDirectory } from '../core/agent.js';
import { textOf } from '../core/message.js';
import { answerText } from '../core/model.js';
import type { RunMemory } from '../core/run.js';
import { isFromOutside, type TaskEvent } from '../core/task.js';
import type { Pass, Recording } from './passes.js';
import { recordedModel } from './recorded-model.js';

const UNLIMITED = Number.MAX_SAFE_INTEGER;

/** The agent of a recorded run: the loop of this version, with what the record says of the agent. */
export function agentOfRecord(recording: Recording, peers: PeerDirectory): LoopAgent {
  const { agent: name } = recording;
  const limits: AgentLimits = {
    ...recording.limits,
    ...{ toolOutputBytes: 2 ** 31 - 1, historyTokens: UNLIMITED, entryBytes: UNLIMITED },
  };
  const context = {
    ...{ multiAgent: name !== FLAT_AGENT_NAME, nodeId: 'replay', limits, showsReasons: () => true },
    model: recordedModel(recording),
  };
  return makeAgent(context, {
    ...{ name, purpose: '', toolbox: undefined, prepare: async () => {}, extendedSkills: () => [] },
    output: outputOf(recording),
    open(_run, budget) {
      const delegations = new Delegations({ peers, limits, nodeId: context.nodeId, budget });
      return () => ({ system: [], functions: ownFunctions(name, delegations) });
    },
  });
}

/** The functions that are no tools. */
function ownFunctions(agent: string, delegations: Delegations): readonly AgentFunction[] {
  if (agent === ORCHESTRATOR_NAME) return [delegations.transferFunction()];
  return agent === FLAT_AGENT_NAME ? [askUser] : [declineRequest, askUser];
}

/** Earlier tasks of the conversation are not in the record. Whether they held text from outside shows in the first output. */
export function memoryOf({ before, events }: Pass): RunMemory {
  const first = events.find(({ body }) => body.type === 'turn-end');
  const known = [...before, ...events.slice(0, first ? events.indexOf(first) : 0)];
  const fromOutside =
    first !== undefined && isFromOutside(first.body) && !known.some(({ body }) => isFromOutside(body));
  return { recall: async () => ({ text: undefined, upTo: undefined, fromOutside }), runEnded: () => {} };
}

/** Reads the answers of an agent that answers with data as they were read; undefined for an agent that answers with text. */
function outputOf({ agent, events, pass }: Recording): OutputReader | undefined {
  const data = (list: readonly TaskEvent[]) =>
    list.flatMap(({ author, body }) => {
      if (body.type !== 'artifact' || body.artifact.id !== OUTPUT_ARTIFACT_ID || author !== agent) return [];
      return body.artifact.parts.flatMap((part) => (part.kind === 'data' ? [part.data] : []));
    });
  const isWrong = ({ body }: TaskEvent) => body.type === 'run-end' && body.reason === WRONG_OUTPUT;
  if (data(events).length === 0 && !events.some(isWrong)) return undefined;
  const [value] = data(pass.events);
  const last = pass.events.map(({ body }) => body).findLast((body) => body.type === 'turn-end');
  const said = textOf(pass.end?.message?.parts ?? []);
  const before = `schema of ${agent}: `;
  const problem = said.slice(said.indexOf(before) + before.length);
  return {
    schema: {},
    parse: (text) =>
      value !== undefined && last && answerText(last.content) === text ? { value } : { problem },
  };
}
