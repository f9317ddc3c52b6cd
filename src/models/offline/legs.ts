import { refersBack, type Match } from './interpreter.js';
import type { Step } from './step.js';

/** One delegation: steps that go to one agent in one request. */
export interface Leg {
  readonly parts: readonly Part[];
  /** Agents that can take all of it, the best first. */
  readonly agents: readonly string[];
}

interface Part {
  /** The index of its step. */
  readonly step: number;
  /** How it goes with the part before. */
  readonly joint: '' | 'then' | 'meanwhile';
  /** Whether the agent is asked for it first, so that "it" can only mean what another agent brought. */
  readonly isFirst: boolean;
}

/** Delegations that go out at once. */
export type Stage = readonly Leg[];

/**
 * Rounds of steps as stages of delegations. Rounds for one and the same agent that follow each other go to it whole, except
 * that a step whose result another agent needs next stands alone: its answer is then nothing but that result.
 */
export function planStages(rounds: readonly (readonly Step[])[]): readonly Stage[] {
  const stages: (readonly Leg[])[] = [];
  const steps = new Map(rounds.flat().map((step) => [step.index, step]));
  rounds.forEach((round, index) => {
    const legs = legsOf(round);
    const before = stages.at(-1);
    const merged = before && mergeStages(before, legs, steps);
    if (merged && !isNeededBy(round, rounds[index + 1])) stages[stages.length - 1] = [merged];
    else stages.push(legs);
  });
  return stages;
}

/** The best match of a step among those for one agent. */
export function matchFor(step: Step, agent: string): Match | undefined {
  return usableMatches(step).find((match) => match.agent === agent);
}

function legsOf(round: readonly Step[]): readonly Leg[] {
  const byAgent = Map.groupBy(round, (step) => agentsOf(step)[0] ?? '');
  return [...byAgent.values()].map((steps) => ({
    agents: agentsForAll(steps),
    parts: steps.map(({ index }, place) => ({
      step: index,
      joint: place === 0 ? '' : 'meanwhile',
      isFirst: true,
    })),
  }));
}

/** Undefined when not both are a single delegation to the same agent. */
function mergeStages(before: Stage, after: Stage, steps: ReadonlyMap<number, Step>): Leg | undefined {
  const [first, second] = [before[0], after[0]];
  if (!first || !second || before.length > 1 || after.length > 1) return undefined;
  if (first.agents[0] === undefined || first.agents[0] !== second.agents[0]) return undefined;
  const later = second.parts.map((part): Part => ({ ...part, joint: part.joint || 'then', isFirst: false }));
  const parts = [...first.parts, ...later];
  return { parts, agents: agentsForAll(parts.flatMap(({ step }) => steps.get(step) ?? [])) };
}

function agentsForAll([first, ...others]: readonly Step[]): readonly string[] {
  if (!first) return [];
  return agentsOf(first).filter((agent) => others.every((step) => matchFor(step, agent)));
}

function isNeededBy(round: readonly Step[], next: readonly Step[] | undefined): boolean {
  const agents = new Set(round.map((step) => agentsOf(step)[0]));
  return (
    next?.some((step) => {
      const best = step.matches[0];
      return best !== undefined && refersBack(best) && !agents.has(agentsOf(step)[0]);
    }) ?? false
  );
}

function agentsOf(step: Step): readonly string[] {
  return [...new Set(usableMatches(step).flatMap((match) => match.agent ?? []))];
}

/** Nobody published the direct wordings: "ask operator" without a task is no request. */
function usableMatches(step: Step): readonly Match[] {
  return step.matches.filter(({ ability, grade }) => ability.isPublished || grade === 'full');
}
