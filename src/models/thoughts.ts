import type { JsonObject } from '../core/json.js';
import type { AnswerBlock } from '../core/model.js';

/** The tags between which models write their thoughts at the start of a text, when their server does not split them off. */
const TAGS: readonly (readonly [open: string, close: string])[] = [
  // DeepSeek R1, Qwen and most others; Claude when it is asked to; Gemini behind its address for OpenAI's libraries
  ['<think>', '</think>'],
  ['<thinking>', '</thinking>'],
  ['<thought>', '</thought>'],
  // Seed-OSS, Magistral, Kimi-VL, Command A, OpenThinker
  ['<seed:think>', '</seed:think>'],
  ['[THINK]', '[/THINK]'],
  ['◁think▷', '◁/think▷'],
  ['<|START_THINKING|>', '<|END_THINKING|>'],
  ['<|begin_of_thought|>', '<|end_of_thought|>'],
  // The harmony format of gpt-oss, and the channels of Gemma
  ['<|channel|>analysis<|message|>', '<|end|>'],
  ['<|channel|>analysis<|message|>', '<|start|>assistant<|channel|>final<|message|>'],
  ['<|channel>thought', '<channel|>'],
];

/** Marks that may come before the answer, after the thoughts or without any. */
const FRAMES = [
  '<|start|>assistant',
  '<|channel|>final<|message|>',
  '<|START_RESPONSE|>',
  '<|begin_of_solution|>',
];

const BEGINNINGS = [...TAGS.map(([open]) => open), ...FRAMES];

const LONGEST_BEGINNING = longest(BEGINNINGS);

/** Servers whose template holds the opening tag send the closing one alone. Harmony and Gemma always send both. */
const LONE_CLOSINGS = TAGS.slice(0, 8).map(([, close]) => close);
const LONE_CLOSING = new RegExp(LONE_CLOSINGS.map(escaped).join('|'), 'g');
const LONGEST_CLOSING = longest(TAGS.map(([, close]) => close));

/** The most closing tags that are looked at: each costs a pass over the text before it. */
const MAX_CANDIDATES = 20;
/** The most blank characters that are looked through on one side of a tag, or before a text. */
const MAX_BLANK = 100;

function longest(texts: readonly string[]): number {
  return Math.max(...texts.map(({ length }) => length));
}

function escaped(text: string): string {
  return text.replaceAll(/[[\]|/]/g, String.raw`\$&`);
}

interface Piece {
  readonly text: string;
  /** Whether the text replaces all that was returned before. */
  readonly restarts?: true;
}

/**
 * Splits the thoughts in tags from the text of an output while it arrives in pieces, which may cut a tag anywhere. Thoughts
 * come first: a tag inside the answer, or in code, is text.
 */
export class ThoughtSplitter {
  #text = '';
  /** The end of the text, as far as it is still looked at. A piece costs no pass over the text before it. */
  #window = '';
  #state: 'start' | 'thoughts' | 'answer' = 'start';
  /** The tags that end the thoughts. */
  #closings: readonly string[] = [];
  /** The characters at the start of the text that are no answer. */
  #thoughtLength = 0;
  #candidates = 0;

  /** The thoughts with their tags, once the text has ended. */
  get thoughts(): string {
    return this.#text.slice(0, this.#thoughtLength);
  }

  /** Takes the next piece, and returns what is known to belong to the answer. */
  take(piece: string): Piece {
    this.#text += piece;
    this.#window += piece;
    const text = this.#state === 'answer' ? piece : this.#advance();
    return this.#closesThoughts(false) ? { text: this.#advance(), restarts: true } : { text };
  }

  /** Returns the rest of the answer once no more pieces come. */
  end(): Piece {
    if (this.#closesThoughts(true)) return { text: this.#begin(), restarts: true };
    if (this.#state === 'thoughts') this.#thoughtLength = this.#text.length;
    return { text: this.#state === 'start' ? this.#begin() : '' };
  }

  /** Reads tags until the answer begins. Returns its beginning, or nothing while more of the text is needed. */
  #advance(): string {
    for (;;) {
      if (this.#state === 'thoughts' && !this.#leavesThoughts()) return '';
      const rest = this.#window.trimStart();
      const mayBeTag = rest.length < LONGEST_BEGINNING && BEGINNINGS.some((tag) => tag.startsWith(rest));
      const open = BEGINNINGS.find((tag) => rest.startsWith(tag));
      if (open === undefined) {
        const isOver = !mayBeTag || this.#window.length > MAX_BLANK + LONGEST_BEGINNING;
        return isOver ? this.#begin() : '';
      }
      this.#window = rest.slice(open.length);
      this.#thoughtLength = this.#text.length - this.#window.length;
      this.#closings = TAGS.filter(([tag]) => tag === open).map(([, close]) => close);
      if (this.#closings.length > 0) this.#state = 'thoughts';
    }
  }

  #leavesThoughts(): boolean {
    const found = this.#closings
      .map((tag) => ({ tag, at: this.#window.indexOf(tag) }))
      .filter(({ at }) => at >= 0)
      .sort((a, b) => a.at - b.at)[0];
    this.#window = found
      ? this.#window.slice(found.at + found.tag.length)
      : this.#window.slice(-LONGEST_CLOSING);
    if (!found) return false;
    this.#thoughtLength = this.#text.length - this.#window.length;
    this.#state = 'start';
    return true;
  }

  /** Returns the beginning of the answer. Blank text before it is dropped only after thoughts. */
  #begin(): string {
    if (this.#thoughtLength > 0) {
      this.#window = this.#window.trimStart();
      this.#thoughtLength = this.#text.length - this.#window.length;
    }
    this.#state = 'answer';
    return this.#window;
  }

  /** Finds a closing tag without an opening one: all text before it is thoughts, although it was returned as an answer. */
  #closesThoughts(isEnd: boolean): boolean {
    if (this.#state !== 'answer') return false;
    if (this.#thoughtLength > 0 || this.#candidates >= MAX_CANDIDATES) {
      this.#window = '';
      return false;
    }
    let judged = 0;
    LONE_CLOSING.lastIndex = 0;
    for (let found; (found = LONE_CLOSING.exec(this.#window));) {
      const [tag] = found;
      const after = this.#window.slice(found.index + tag.length);
      // The rest of its line tells whether the tag ends it.
      if (!isEnd && /^[ \t]*$/.test(after.slice(0, MAX_BLANK + 1)) && after.length <= MAX_BLANK)
        return this.#waitAt(found.index);
      this.#candidates += 1;
      judged = found.index + tag.length;
      const before = this.#text.slice(0, this.#text.length - after.length - tag.length);
      if (!isLoneClosing(before, tag, after)) continue;
      this.#window = after;
      this.#thoughtLength = this.#text.length - after.length;
      this.#state = 'start';
      return true;
    }
    return this.#waitAt(Math.max(judged, this.#window.length - LONGEST_CLOSING + 1));
  }

  #waitAt(position: number): false {
    this.#window = this.#window.slice(position);
    return false;
  }
}

/** Whether a closing tag ends thoughts that had no opening one: it begins or ends its line, and is not part of code. */
function isLoneClosing(before: string, tag: string, after: string): boolean {
  const opening = TAGS.find(([, close]) => close === tag)![0];
  const isAtEdge =
    /(^|\n)[ \t]*$/.test(before.slice(-MAX_BLANK)) || /^[ \t]*\r?(\n|$)/.test(after.slice(0, MAX_BLANK));
  const isInCode = before.endsWith('`') || before.split('```').length % 2 === 0;
  return isAtEdge && !isInCode && !before.includes(opening);
}

/** Takes the thoughts from the start of the texts. They are kept as a block of `provider`. Default: of nobody. */
export function withoutThoughts(
  content: readonly AnswerBlock[],
  thoughts: string,
  provider = THOUGHTS,
): readonly AnswerBlock[] {
  if (thoughts === '') return content;
  // A blank text before the thoughts may be no block of its own.
  let left = thoughts.trimStart().length;
  const blocks = content.flatMap((block): readonly AnswerBlock[] => {
    if (block.type !== 'text' || left === 0) return [block];
    const whole = left === thoughts.trimStart().length ? block.text.trimStart() : block.text;
    const text = whole.slice(left);
    left = Math.max(0, left - whole.length);
    return text === '' ? [] : [{ ...block, text }];
  });
  return [{ type: 'opaque', provider, block: { type: THOUGHTS, text: thoughts } }, ...blocks];
}

/** No model has this name, so the block goes back to none. */
const THOUGHTS = 'thoughts';

/** The thoughts with their tags that an opaque block holds; empty for another block. */
export function thoughtsIn({ type, text }: JsonObject): string {
  return type === THOUGHTS && typeof text === 'string' ? text : '';
}
