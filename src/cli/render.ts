import pc from 'picocolors';
import type { ClientEvent, EndEvent } from '../a2a/client/reader.js';
import type { JsonObject } from '../core/json.js';
import type { Artifact, Part } from '../core/message.js';
import type { Usage } from '../core/model.js';
import type { Activity, Question, TaskState } from '../core/task.js';
import { exactJson, safeLine, safeText } from './safe-text.js';

export interface RendererOptions {
  readonly color: boolean;
  /** Answers are written as they come; else once, when they are whole. */
  readonly live: boolean;
  /** Gets whole lines with their line feed, and with `live` also pieces of a line. */
  readonly write: (text: string) => void;
}

/** Shows what happens in a task to a person, one event at a time. Nothing in an event can drive the terminal. */
export interface Renderer {
  show(event: ClientEvent): void;
  /** The last line has no end yet. */
  readonly isMidLine: boolean;
}

const REQUEST_CHARACTERS = 100;
const RESULT_CHARACTERS = 100;
const ARGUMENTS_CHARACTERS = 100;
const ARGUMENT_CHARACTERS = 60;

export function createRenderer(options: RendererOptions): Renderer {
  return new EventRenderer(options);
}

interface Answer {
  author: string;
  text: string;
}

class EventRenderer implements Renderer {
  readonly #options: RendererOptions;
  readonly #paint: Paint;
  /** The unfinished last line of what each sub-agent says while it works, by author. */
  readonly #said = new Map<string, string>();
  /** The agents that are at work for another one, once for each delegation. */
  readonly #delegated: string[] = [];
  readonly #answers = new Map<string, Answer>();
  /** The answer that the end of the output belongs to. */
  #speaking: Answer | undefined;
  #task = 'task';
  isMidLine = false;

  constructor(options: RendererOptions) {
    this.#options = options;
    this.#paint = createPaint(options.color);
  }

  show(event: ClientEvent): void {
    switch (event.type) {
      case 'task':
        this.#task = `task ${safeLine(event.taskId)}`;
        break;
      case 'status':
        if (event.state === 'submitted' || event.state === 'working') {
          this.#line(this.#paint.dim(`${this.#task} ${event.state}`));
        }
        break;
      case 'activity':
        this.#showActivity(event.author, event.activity);
        break;
      case 'text-delta':
        this.#showText(event);
        break;
      case 'artifact':
        this.#line(`${this.#name(event.author)} ${this.#paint.dim('▪')} ${artifactText(event.artifact)}`);
        break;
      case 'end':
        this.#showEnd(event);
        break;
    }
  }

  #showActivity(author: string, activity: Activity): void {
    if (activity.type === 'text') {
      this.#say(author, activity.text);
      return;
    }
    this.#finishSaying(author);
    if (activity.type === 'tool-call' || activity.type === 'delegation-start') this.#settleAnswers(author);
    if (activity.type === 'delegation-start') this.#delegated.push(activity.agent);
    if (activity.type === 'delegation-end') this.#finishDelegation(activity.agent);
    const text = this.#activityText(activity);
    if (text !== undefined) this.#line(`${this.#name(author)} ${text}`);
  }

  /** Shows the last lines of an agent whose delegation ended. Its own sub-agents may have spoken under other names. */
  #finishDelegation(agent: string): void {
    this.#finishSaying(agent);
    const index = this.#delegated.indexOf(agent);
    if (index !== -1) this.#delegated.splice(index, 1);
    if (this.#delegated.length === 0) this.#finishAllSaying();
  }

  #finishAllSaying(): void {
    for (const author of [...this.#said.keys()]) this.#finishSaying(author);
  }

  /** Text before a call is not the answer but what the agent says about the call: it is shown now and stays. */
  #settleAnswers(author: string): void {
    for (const [artifactId, answer] of this.#answers) {
      if (answer.author !== author) continue;
      this.#answers.delete(artifactId);
      if (!this.#options.live) this.#showAnswer(answer);
    }
  }

  #showAnswer({ author, text }: Answer): void {
    if (text !== '') this.#line(`${this.#name(author)}:\n${safeText(text)}`);
  }

  #activityText(activity: Exclude<Activity, { type: 'text' }>): string | undefined {
    const paint = this.#paint;
    switch (activity.type) {
      case 'turn-start':
        return undefined;
      case 'tool-call':
        return `▸ ${paint.yellow(safeLine(activity.tool))} ${argumentsText(activity.arguments)}`.trimEnd();
      case 'tool-result': {
        const text = `◂ ${safeLine(activity.tool)}: ${safeLine(activity.text, RESULT_CHARACTERS) || 'done'}`;
        return activity.isError ? paint.red(text) : paint.dim(text);
      }
      case 'delegation-start':
        return `→ ${this.#name(activity.agent)} ${safeLine(activity.request, REQUEST_CHARACTERS)}`;
      case 'delegation-end':
        return `← ${this.#name(activity.agent)} ${this.#state(activity.state)}`;
    }
  }

  /** Several agents may speak at once: each of their lines is shown when it is whole. */
  #say(author: string, text: string): void {
    const lines = ((this.#said.get(author) ?? '') + text).split('\n');
    this.#said.set(author, lines.pop() ?? '');
    for (const line of lines) this.#sayLine(author, line);
  }

  #finishSaying(author: string): void {
    const rest = this.#said.get(author) ?? '';
    this.#said.delete(author);
    this.#sayLine(author, rest);
  }

  #sayLine(author: string, line: string): void {
    if (line.trim() !== '') this.#line(`${this.#name(author)} ${this.#paint.dim(safeText(line))}`);
  }

  #showText({ author, artifactId, text, replace }: Extract<ClientEvent, { type: 'text-delta' }>): void {
    this.#finishSaying(author);
    let answer = this.#answers.get(artifactId);
    const isTakenBack = replace && answer !== undefined && answer.text !== '';
    if (!answer || replace) answer = { author, text: '' };
    this.#answers.set(artifactId, answer);
    answer.text += text;
    if (!this.#options.live || text === '') return;
    if (this.#speaking !== answer) {
      if (isTakenBack) this.#line(this.#paint.dim('┄ instead of what was said before'));
      this.#line(`${this.#name(author)}:`);
    }
    this.#speaking = answer;
    this.#write(safeText(text));
  }

  #showEnd(end: EndEvent): void {
    this.#finishAllSaying();
    if (!this.#options.live) for (const answer of this.#answers.values()) this.#showAnswer(answer);
    const reason = end.state === 'completed' || end.questions.length > 0 ? '' : `: ${safeText(end.text)}`;
    this.#line(`${this.#state(end.state)}${reason}${this.#paint.dim(usageText(end.usage))}`);
    for (const question of end.questions) this.#line(questionText(question, this.#options.color));
  }

  #name(author: string): string {
    return this.#paint.author(safeLine(author));
  }

  #state(state: TaskState): string {
    return this.#paint.state(state);
  }

  #line(text: string): void {
    this.#speaking = undefined;
    this.#write(`${this.isMidLine ? '\n' : ''}${text}\n`);
  }

  #write(text: string): void {
    this.isMidLine = !text.endsWith('\n');
    this.#options.write(text);
  }
}

/** A question with all there is to know before it is answered. */
export function questionText(question: Question, color: boolean): string {
  const paint = createPaint(color);
  const { author, text, tool, arguments: given, expiresAt } = question;
  const lines = [`${paint.yellow('?')} ${paint.author(safeLine(author))} asks: ${safeText(text)}`];
  if (tool !== undefined) lines.push(`${paint.yellow(safeLine(tool))} ${exactJson(given ?? {})}`);
  if (expiresAt !== undefined) lines.push(paint.dim(`asked until ${new Date(expiresAt).toISOString()}`));
  return lines.join('\n').replaceAll('\n', '\n  ');
}

type Paint = ReturnType<typeof createPaint>;

/** The colors of the command line; none of them carries a meaning that the words do not. */
export function createPaint(color: boolean) {
  const { bold, cyan, dim, green, magenta, red, yellow } = pc.createColors(color);
  const state = (name: TaskState): string => {
    switch (name) {
      case 'completed':
        return green('✔ completed');
      case 'failed':
      case 'rejected':
        return red(`✘ ${name}`);
      case 'canceled':
        return yellow('✘ canceled');
      case 'input-required':
      case 'auth-required':
        return magenta(`⏸ ${name}`);
      case 'submitted':
      case 'working':
        return dim(name);
    }
  };
  return { bold, dim, green, red, yellow, state, author: (name: string) => bold(cyan(name)) };
}

/** `path="notes.md" limit=10`, shortened. */
function argumentsText(given: JsonObject): string {
  const pairs = Object.entries(given).map(
    ([name, value]) => `${name}=${safeLine(JSON.stringify(value) ?? '', ARGUMENT_CHARACTERS)}`,
  );
  return safeLine(pairs.join(' '), ARGUMENTS_CHARACTERS);
}

function artifactText({ name, id, parts }: Artifact): string {
  return `${safeLine(name ?? id)} (${parts.map(partText).join(', ')})`;
}

function partText(part: Part): string {
  const type = safeLine(part.mediaType ?? part.kind);
  if (part.kind !== 'file') return type;
  if ('url' in part) return `${type} at ${safeLine(part.url)}`;
  return `${type}, ${Buffer.byteLength(part.bytes, 'base64')} bytes`;
}

function usageText({ input, output, cached }: Usage): string {
  if (input + output === 0) return '';
  const count = (tokens: number): string => tokens.toLocaleString('en-US');
  const fromCache = cached > 0 ? ` (${count(cached)} cached)` : '';
  return ` · ${count(input)} tokens in${fromCache}, ${count(output)} out`;
}
