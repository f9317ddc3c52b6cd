import { shorten } from '../../core/text.js';
import { clauseText, splitClauses, type Clause, type Meaning } from './clauses.js';
import { short } from './report.js';
import { readWords } from './words.js';

const INTRODUCTION =
  /^(please |can you |could you )?(((make|create|write|draw up|prepare|draft|give me|work out) )?(me )?((a|an|the) )?(\w{1,20} )?plan(ning)?\b|plan\b)( for| to| of| on| about)?( how to| how we| how I)?[\s:,-]{0,10}/i;
const CLOSING =
  "This plan was put together by rule (Lango's offline model does not reason); please review it before anything is done.";
const MOST_STEPS = 30;
const LONGEST_GOAL = 300;

/**
 * A numbered plan for a goal. A goal of several clauses is its own plan, with a check at the end; one
 * of a single clause gets the outline that fits everything, and says so.
 */
export function writePlan(request: string): string {
  const goal = goalOf(request);
  const clauses = splitClauses(goal, naiveMeaning).slice(0, MOST_STEPS);
  const steps = clauses.length > 1 ? clauses.map((clause) => stepText(goal, clause)) : outline(goal);
  const check = clauses.length > 1 ? [`Check that each step did what it should: ${short(goal)}`] : [];
  const lines = [...steps, ...check].map((step, index) => `${index + 1}. ${step}`);
  return `Plan: ${shorten(goal, LONGEST_GOAL)}\n\n${lines.join('\n')}\n\n${CLOSING}`;
}

function goalOf(request: string): string {
  const goal = request.replace(INTRODUCTION, '').trim();
  return goal === '' ? request.trim() : goal;
}

/** Without examples to go by, any two or more words are taken for a step: "bread and butter" stays one. */
function naiveMeaning(sentence: string): Meaning {
  const isClear = readWords(sentence.slice(0, LONGEST_GOAL)).tokens.length > 1;
  return { isClear, holdsGoal: false, refersBack: false, quotations: [], lead: '' };
}

function stepText(goal: string, clause: Clause): string {
  const step = short(clauseText(goal, clause).replace(/[.!]$/, ''));
  return clause.link === 'parallel' ? `At the same time: ${step}` : capitalized(step);
}

function outline(goal: string): readonly string[] {
  const name = short(goal.replace(/[.!?]$/, ''));
  return [
    `Make clear what "${name}" means: what the result is, and how one can tell that it is reached.`,
    'Gather what is needed: what exists already, what is missing, who has to agree.',
    `Do it in small parts, the one that everything else depends on first: ${name}.`,
    'Check the result against what was agreed in step 1, and correct what does not hold.',
  ];
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
