import type { ClientEvent, EndEvent } from '../a2a/client/reader.js';
import type { JsonObject } from '../core/json.js';
import type { Artifact, Part } from '../core/message.js';
import type { Usage } from '../core/model.js';
import type { Activity, Question } from '../core/task.js';
import type { Paint } from '../terminal/paint.js';
import { exactJson, jsonLine, safeLine, safeText } from '../terminal/safe-text.js';
import type { Terminal } from '../terminal/terminal.js';
import { TextLayout, wrapLine } from './text-layout.js';

/** Shows one event of a task to the person who started the command. */
export type View = (event: ClientEvent) => void;

/**
 * Makes a view: `story` shows all events as they happen, and a progress line in between; `output` writes only the output
 * to standard output, fit for a pipe, and all else to standard error; `json` writes each event as a line of JSON.
 */
export function viewOf(kind: 'story' | 'output' | 'json', terminal: Terminal): View {
  const { progress, print } = terminal;
  if (kind === 'json') return (event) => print(jsonLine(event));
  const renderer = new Renderer(terminal);
  return (event) => {
    progress.label(progressLabel(event));
    if (kind === 'story') {
      renderer.show(event);
      progress.hold(renderer.isMidLine);
    } else if (event.type === 'end') showOutput(event, terminal);
  };
}

function showOutput({ state, text, questions }: EndEvent, { print, note, notePaint }: Terminal): void {
  if (state === 'completed') print(safeText(text));
  else note(questions.length > 0 ? state : `${state}: ${safeText(text)}`);
  for (const question of questions) note(questionText(question, notePaint));
}

function progressLabel(event: ClientEvent): string {
  if (event.type === 'text-delta' || event.type === 'artifact') return `${event.author} answers`;
  if (event.type !== 'activity') return 'working';
  const { author, activity } = event;
  if (activity.type === 'tool-call') return `${author} runs ${activity.tool}`;
  return activity.type === 'delegation-start' ? `${activity.agent} works` : `${author} thinks`;
}

const REQUEST_CHARACTERS = 100;
const RESULT_CHARACTERS = 100;
const ARGUMENTS_CHARACTERS = 100;
const ARGUMENT_CHARACTERS = 60;

/** `write` gets whole lines with their line feed; on a live terminal also parts of a line. */
type Output = Pick<Terminal, 'paint' | 'isLive' | 'columns' | 'write'>;

interface AgentOutput {
  author: string;
  text: string;
  /** Lays out an output that is shown as it arrives; undefined where text stays as it was sent. */
  readonly layout: TextLayout | undefined;
}

/**
 * Shows the events of a task to a person. Control characters in an event never reach the terminal. Outputs are written as
 * they arrive where the terminal is live, and elsewhere once each, when it is complete. Without columns nothing is laid out.
 */
export class Renderer {
  readonly #terminal: Output;
  readonly #paint: Paint;
  /** The unfinished last line of the running text of each sub-agent, by author. */
  readonly #partialLines = new Map<string, string>();
  /** The agents with an open delegation, once for each delegation. */
  readonly #delegated: string[] = [];
  readonly #outputs = new Map<string, AgentOutput>();
  /** The text before the last call of each output, from a question on: the stream after it begins with the same text. */
  #shownBefore = new Map<string, string>();
  readonly #settled = new Map<string, string>();
  /** The agent output whose text was written last. */
  #lastOutput: AgentOutput | undefined;
  #task = 'task';
  /** Whether the written text ends in the middle of a line. */
  isMidLine = false;

  constructor(terminal: Output) {
    this.#terminal = terminal;
    this.#paint = terminal.paint;
  }

  show(event: ClientEvent): void {
    switch (event.type) {
      case 'task':
        this.#task = `task ${safeLine(event.taskId)}`;
        break;
      case 'status':
        if (event.state === 'submitted' || event.state === 'working')
          this.#line(this.#paint.dim(`${this.#task} ${event.state}`));
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
      case 'authorization':
      case 'away':
        // Only a delegation is told of these.
        break;
      case 'end':
        this.#showEnd(event);
        break;
    }
  }

  #showActivity(author: string, activity: Activity): void {
    if (activity.type === 'text') {
      if (activity.replace) this.#flushLine(author);
      this.#addText(author, activity.text);
      return;
    }
    this.#flushLine(author);
    if (activity.type === 'tool-call' || activity.type === 'delegation-start') this.#settleOutputs(author);
    if (activity.type === 'delegation-start') this.#delegated.push(activity.agent);
    if (activity.type === 'delegation-end') this.#finishDelegation(activity.agent);
    const text = this.#activityText(activity);
    if (text !== undefined) this.#line(`${this.#name(author)} ${text}`);
  }

  /** Shows the last lines of an agent whose delegation ended. Its own sub-agents may have spoken under other names. */
  #finishDelegation(agent: string): void {
    this.#flushLine(agent);
    const index = this.#delegated.indexOf(agent);
    if (index !== -1) this.#delegated.splice(index, 1);
    if (this.#delegated.length === 0) this.#flushAllLines();
  }

  #flushAllLines(): void {
    for (const author of [...this.#partialLines.keys()]) this.#flushLine(author);
  }

  /** Shows text that precedes a call: it comments on the call and is not part of the output. */
  #settleOutputs(author: string): void {
    for (const [artifactId, output] of this.#outputs) {
      if (output.author !== author) continue;
      this.#outputs.delete(artifactId);
      this.#settled.set(artifactId, output.text);
      if (!this.#terminal.isLive) this.#showOutput(output);
    }
  }

  #showOutput({ author, text }: AgentOutput): void {
    if (text !== '') this.#line(`${this.#name(author)}:\n${safeText(text)}`);
  }

  #activityText(activity: Exclude<Activity, { type: 'text' }>): string | undefined {
    const paint = this.#paint;
    switch (activity.type) {
      case 'turn-start':
        return undefined;
      case 'thinking':
        return paint.dim(`✻ ${safeLine(activity.text, RESULT_CHARACTERS)}`);
      case 'tool-call':
        return `▸ ${paint.yellow(safeLine(activity.tool))} ${argumentsText(activity.arguments)}`.trimEnd();
      case 'tool-result': {
        const text = `◂ ${safeLine(activity.tool)}: ${safeLine(activity.text, RESULT_CHARACTERS) || 'done'}`;
        return activity.isError ? paint.red(text) : paint.dim(text);
      }
      case 'delegation-start':
        return `→ ${this.#name(activity.agent)} ${safeLine(activity.request, REQUEST_CHARACTERS)}`;
      case 'delegation-end': {
        const why = activity.reason === undefined ? '' : `: ${safeLine(activity.reason)}`;
        return `← ${this.#name(activity.agent)} ${paint.state(activity.state)}${why}`;
      }
    }
  }

  /** Shows each line when it is complete, since several agents may write at the same time. */
  #addText(author: string, text: string): void {
    const lines = ((this.#partialLines.get(author) ?? '') + text).split('\n');
    this.#partialLines.set(author, lines.pop() ?? '');
    for (const line of lines) this.#showTextLine(author, line);
  }

  #flushLine(author: string): void {
    const rest = this.#partialLines.get(author) ?? '';
    this.#partialLines.delete(author);
    this.#showTextLine(author, rest);
  }

  #showTextLine(author: string, line: string): void {
    if (line.trim() !== '') this.#line(`${this.#name(author)} ${this.#paint.dim(safeText(line))}`);
  }

  #showText({ author, artifactId, text, replace }: Extract<ClientEvent, { type: 'text-delta' }>): void {
    this.#flushLine(author);
    const isShown = replace && this.#shownBefore.get(artifactId) === text;
    this.#shownBefore.delete(artifactId);
    if (isShown) return;
    let output = this.#outputs.get(artifactId);
    const isReplaced = replace && output !== undefined && output.text !== '';
    if (!output || replace) output = { author, text: '', layout: this.#newLayout() };
    this.#outputs.set(artifactId, output);
    output.text += text;
    if (!this.#terminal.isLive || text === '') return;
    if (this.#lastOutput !== output) {
      if (isReplaced) this.#line(this.#paint.dim('┄ replaces the text above'));
      this.#line(`${this.#name(author)}:`);
    }
    this.#lastOutput = output;
    const safe = safeText(text);
    this.#write(output.layout ? output.layout.write(safe) : safe);
  }

  #newLayout(): TextLayout | undefined {
    const { columns } = this.#terminal;
    return columns === undefined ? undefined : new TextLayout({ columns, paint: this.#paint });
  }

  #showEnd(end: EndEvent): void {
    this.#flushAllLines();
    if (!this.#terminal.isLive) for (const output of this.#outputs.values()) this.#showOutput(output);
    const reason = end.state === 'completed' || end.questions.length > 0 ? '' : `: ${safeText(end.text)}`;
    this.#line(`${this.#paint.state(end.state)}${reason}${this.#paint.dim(usageText(end.usage))}`);
    if (end.questions.length > 0) this.#shownBefore = new Map(this.#settled);
    for (const question of end.questions) this.#exactLine(questionText(question, this.#paint));
  }

  #name(author: string): string {
    return this.#paint.author(safeLine(author));
  }

  #line(text: string): void {
    const { columns } = this.#terminal;
    const lines = columns === undefined ? [text] : text.split('\n').map((line) => wrapLine(line, columns));
    this.#exactLine(lines.join('\n'));
  }

  /** Shows lines that keep their breaks. */
  #exactLine(text: string): void {
    this.#write(this.#lastOutput?.layout?.end() ?? '');
    this.#lastOutput = undefined;
    this.#write(`${this.isMidLine ? '\n' : ''}${text}\n`);
  }

  #write(text: string): void {
    if (text === '') return;
    this.isMidLine = !text.endsWith('\n');
    this.#terminal.write(text);
  }
}

/** Formats a question with everything a person needs to reply to it. */
export function questionText(question: Question, paint: Paint): string {
  const { author, text, tool, arguments: given, expiresAt } = question;
  const lines = [`${paint.yellow('?')} ${paint.author(safeLine(author))} asks: ${safeText(text)}`];
  if (tool !== undefined) lines.push(`${paint.yellow(safeLine(tool))} ${exactJson(given ?? {})}`);
  if (expiresAt !== undefined) lines.push(paint.dim(`expires ${new Date(expiresAt).toISOString()}`));
  return lines.join('\n').replaceAll('\n', '\n  ');
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
