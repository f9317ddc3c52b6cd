import { z } from 'zod';
import type { JsonObject } from '../../core/json.js';
import { clauseText, splitClauses } from './clauses.js';
import type { Interpreter, Match } from './interpreter.js';
import { planStages, type Stage } from './legs.js';
import type { Step } from './step.js';
import { smallTalk, TALK_KINDS, type TalkKind } from './talk.js';
import type { MadeCall } from './turn.js';

/**
 * How a request was understood when it came. It travels with the first answer, because what is offered changes on the
 * way: an agent that turned something down leaves the examples, and at a limit all functions go. By place, not by
 * text, so that it stays small.
 */
const draftSchema = z.object({
  clauses: z
    .array(
      z.object({
        start: z.number(),
        end: z.number(),
        lead: z.string(),
        link: z.enum(['then', 'loose', 'parallel']),
        role: z.enum(['step', 'unknown', 'blocked', ...TALK_KINDS]),
      }),
    )
    .readonly(),
  /** For an orchestrator: who gets which clauses. */
  stages: z.array(z.array(legSchema()).readonly()).readonly().optional(),
});

function legSchema() {
  const joint = z.enum(['', 'then', 'meanwhile']);
  const part = z.object({ step: z.number(), joint, isFirst: z.boolean() });
  return z.object({ agents: z.array(z.string()).readonly(), parts: z.array(part).readonly() });
}

export type Draft = z.infer<typeof draftSchema>;

/** What is to be done about a request. */
export interface Script {
  /** One after the other; the steps of a round at the same time. */
  readonly rounds: readonly (readonly Step[])[];
  /** For an orchestrator, instead of the rounds. */
  readonly stages: readonly Stage[] | undefined;
  readonly talk: readonly TalkKind[];
  readonly unknown: readonly string[];
  /** Clauses that come after ("then") one that was not understood, and so are not begun. */
  readonly blocked: readonly string[];
}

export function draftScript(text: string, interpreter: Interpreter, isDelegating: boolean): Draft {
  let isBlocked = false;
  let afterUnknown = false;
  const clauses = splitClauses(text, interpreter.meaning).map((clause) => {
    const sentence = clauseText(text, clause);
    const best = interpreter.matches(sentence)[0];
    const kind = best && outweighsTalk(best) ? undefined : smallTalk(sentence);
    isBlocked ||= clause.link === 'then' && afterUnknown;
    afterUnknown = (!best && !kind) || (afterUnknown && clause.link === 'parallel');
    const role = kind ?? (best ? (isBlocked ? 'blocked' : 'step') : 'unknown');
    return { ...clause, role } as const;
  });
  const draft: Draft = { clauses };
  if (!isDelegating) return draft;
  return { ...draft, stages: planStages(readScript(draft, text, interpreter).rounds) };
}

/** No agent has to be asked for a "hello", though one may have it among its examples (requirement O5). */
function outweighsTalk({ grade, agent, values }: Match): boolean {
  return grade === 'full' && (agent === undefined || values.size > 0);
}

/** A draft that came back in a conversation; undefined when it is none. */
export function parseDraft(block: JsonObject): Draft | undefined {
  return draftSchema.safeParse(block).data;
}

export function readScript(draft: Draft, text: string, interpreter: Interpreter): Script {
  const sentences = draft.clauses.map((clause) => clauseText(text, clause));
  const withRole = (role: string) => sentences.filter((_, index) => draft.clauses[index]?.role === role);
  const rounds: Step[][] = [];
  draft.clauses.forEach(({ role, link }, index) => {
    if (role !== 'step') return;
    const sentence = sentences[index]!;
    const step: Step = { index, text: sentence, matches: interpreter.matches(sentence) };
    const last = rounds.at(-1);
    if (link === 'parallel' && last) last.push(step);
    else rounds.push([step]);
  });
  return {
    rounds,
    stages: draft.stages,
    talk: TALK_KINDS.filter((kind) => draft.clauses.some(({ role }) => role === kind)),
    unknown: withRole('unknown'),
    blocked: withRole('blocked'),
  };
}

/**
 * The calls that belong to a step. One that another model made (the provider was changed in the middle
 * of a task) belongs to the first step that wants the same function.
 */
export function assignCalls(
  rounds: Script['rounds'],
  calls: readonly MadeCall[],
): ReadonlyMap<number, readonly MadeCall[]> {
  const steps = rounds.flat();
  const assigned = new Map(steps.map((step): [number, MadeCall[]] => [step.index, []]));
  for (const call of calls) {
    const free = steps.find(
      ({ index, matches }) =>
        matches[0]?.ability.spec.name === call.name && assigned.get(index)?.length === 0,
    );
    assigned.get(call.step ?? free?.index ?? -1)?.push(call);
  }
  return assigned;
}
