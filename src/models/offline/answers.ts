import type { Ability } from './abilities.js';
import { short } from './report.js';
import { isQuestion, type TalkKind } from './talk.js';
import { humanText } from './template.js';

const IDENTITY =
  "I am Lango's offline model: a small set of fixed rules that compares what you write with English examples. I need no key and " +
  'no network, and I know nothing about the world. For a real model set ANTHROPIC_API_KEY, or model.provider in the ' +
  'configuration.';
const SHORT_IDENTITY =
  "I am Lango's offline model: I compare requests with English examples, without a key and without knowledge of the world. Set " +
  'ANTHROPIC_API_KEY or model.provider for a real model.';

const FEWEST_EXAMPLES = 3;
const MOST_EXAMPLES = 5;
const MOST_PER_AGENT = 6;
const MOST_AGENTS = 30;

/** What is answered to small talk. */
export function replyTo(kind: TalkKind, abilities: readonly Ability[]): string {
  switch (kind) {
    case 'greeting':
      return 'Hello! What can I do for you? (Ask "what can you do" for examples.)';
    case 'well-being':
      return 'I am a program, so always the same, but thank you for asking. What can I do for you?';
    case 'thanks':
      return 'You are welcome.';
    case 'farewell':
      return 'Goodbye!';
    case 'assent':
      return 'All right.';
    case 'identity':
      return IDENTITY;
    case 'abilities':
      return `${IDENTITY}\n\n${listAbilities(abilities)}`;
    case 'opinion':
      return `That is for people to say: as an offline model of fixed rules I have no opinions, tastes or stories. ${invite(abilities)}`;
  }
}

/** Whether small talk is a mere courtesy, which needs no answer next to real work. */
export function isCourtesy(kind: TalkKind): boolean {
  return kind !== 'identity' && kind !== 'abilities' && kind !== 'opinion';
}

/** The plain answer to something that no example fits. `nearest` are abilities, the nearest first. */
export function notUnderstood(sentence: string, nearest: readonly Ability[]): string {
  const opening = isQuestion(sentence)
    ? `I cannot answer that: "${short(sentence)}".`
    : `I did not understand "${short(sentence)}".`;
  const examples = exampleTexts(nearest);
  if (examples.length === 0) return `${opening} ${SHORT_IDENTITY}`;
  return `${opening} ${SHORT_IDENTITY}\n\nWhat I do understand, for instance:\n${bulleted(examples)}`;
}

/** Why a request is turned down, for whoever sent it here. */
export function declineReason(sentence: string, nearest: readonly Ability[]): string {
  const examples = exampleTexts(nearest);
  const instead =
    examples.length === 0 ? '' : ` What can be asked of me, for instance: ${examples.join('; ')}.`;
  return `"${short(sentence)}" is nothing that I can do.${instead}`;
}

function listAbilities(abilities: readonly Ability[]): string {
  const published = abilities.filter((ability) => ability.isPublished);
  if (published.length === 0) return 'At present there is nothing that I could do for you besides talk.';
  const groups = Map.groupBy(published, (ability) => ability.agent ?? '');
  const lines = [...groups].slice(0, MOST_AGENTS).flatMap(([agent, own]) => {
    const texts = [...new Set(own.map(({ example }) => humanText(example.text)))];
    if (agent === '') return texts.map((text) => `- ${text}`);
    const more = texts.length > MOST_PER_AGENT ? `; and ${texts.length - MOST_PER_AGENT} more` : '';
    return [`- ${agent}: ${texts.slice(0, MOST_PER_AGENT).join('; ')}${more}`];
  });
  const hint = 'Several at once work too: "… and then …", "… and at the same time …".';
  return `What you can ask for (brackets are for you to fill):\n${lines.join('\n')}\n\n${hint}`;
}

function invite(abilities: readonly Ability[]): string {
  const [first] = exampleTexts(abilities.filter((ability) => ability.isPublished));
  return first === undefined
    ? 'Ask me "who are you" to learn more.'
    : `What I can do is, for instance: ${first}.`;
}

/** The nearest few; of those that are equally far, different ones first comes by their order. */
function exampleTexts(nearest: readonly Ability[]): readonly string[] {
  const seen = new Set<string>();
  const [first, rest] = [new Array<string>(), new Array<string>()];
  for (const ability of nearest) {
    const text = humanText(ability.example.text);
    const owner = `${ability.agent ?? ''}/${ability.spec.name}`;
    if (first.includes(text) || rest.includes(text)) continue;
    (seen.has(owner) ? rest : first).push(text);
    seen.add(owner);
  }
  const chosen = first.slice(0, MOST_EXAMPLES);
  return chosen.length >= FEWEST_EXAMPLES ? chosen : [...chosen, ...rest].slice(0, MOST_EXAMPLES);
}

function bulleted(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join('\n');
}
