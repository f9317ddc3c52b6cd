import { countIn, listIn, objectIn, textIn, type JsonObject } from '../../core/json.js';
import { NO_USAGE, type AnswerBlock, type Usage } from '../../core/model.js';
import type { ServerEvent } from '../../core/server-events.js';
import { keepableObject, toFunctionCall } from '../conversation.js';
import { isEnd, reasonOf, type Ended } from '../ends.js';
import { OutputBounds, parseEvent, textsOf, usageOf, type OutputReader } from '../exchange.js';
import { inStreamFailure, type Endpoint } from '../failure.js';
import { filteredCategories } from '../reason.js';
import { Members } from './members.js';

const DONE = '[DONE]';

/** Assembles a Chat Completions stream. Real servers leave out any field, and some send `message` in place of `delta`. */
export class OpenaiOutputReader implements OutputReader {
  readonly #bounds = new OutputBounds();
  readonly #calls = new CallCollector();
  readonly #members = new Members('chat-message');
  #text = '';
  #hasDelta = false;
  #hasRefused = false;
  #filtered = '';
  #finishReason: string | undefined;
  /** Whether the newest choice had a reason without a word: such servers never give one. */
  #isEmptyReason = false;
  #usage: Usage = NO_USAGE;

  get isWhole(): boolean {
    return this.#finishReason !== undefined;
  }

  accept({ name, data }: ServerEvent, endpoint: Endpoint): string {
    if (data.startsWith(DONE)) {
      this.#finishReason ??= '';
      return '';
    }
    if (name !== '' && name !== 'message' && name !== 'error') return '';
    const chunk = parseEvent(data);
    if (chunk.error || chunk.object === 'error' || name === 'error') throw inStreamFailure(chunk, endpoint);
    if (chunk.usage) this.#usage = toUsage(objectIn(chunk.usage));
    const choice = listIn(chunk.choices)
      .map(objectIn)
      .find(({ index }) => countIn(index) === 0);
    if (choice?.error) throw inStreamFailure(choice, endpoint);
    return choice ? this.#take(choice) : '';
  }

  ended(): Ended {
    const text: readonly AnswerBlock[] = this.#text ? [{ type: 'text', text: this.#text }] : [];
    const reason = this.#finishReason ?? '';
    return {
      // A refusal may come with any other reason.
      reason: this.#hasRefused && reason !== 'length' ? 'refusal' : reason,
      isAccountedFor: this.#isEmptyReason || this.#usage.output > 0,
      content: [...this.#members.blocks(), ...text, ...this.#calls.blocks()],
      usage: this.#usage,
      ...(this.#filtered && { refusal: this.#filtered }),
      isOwnRefusal: this.#hasRefused,
    };
  }

  #take(choice: JsonObject): string {
    const reason = reasonOf(textIn(choice.finish_reason), textIn(choice.native_finish_reason));
    if (isEnd(reason)) this.#finishReason = reason;
    this.#isEmptyReason = choice.finish_reason === '';
    this.#filtered = filteredCategories(choice) || this.#filtered;
    // Some servers repeat the whole message after its deltas.
    const given = choice.delta ?? (this.#hasDelta ? undefined : choice.message);
    if (!given) return '';
    const delta = objectIn(given);
    const refusal = textIn(delta.refusal);
    this.#hasDelta = true;
    this.#hasRefused ||= refusal !== '';
    this.#members.add(delta, this.#bounds);
    for (const fragment of listIn(delta.tool_calls)) this.#calls.add(objectIn(fragment), this.#bounds);
    const text = this.#bounds.chunk(textIn(delta.content) + textsOf(delta.content) + refusal);
    this.#text += text;
    return text;
  }
}

function toUsage({ prompt_tokens: input, completion_tokens: output, ...usage }: JsonObject): Usage {
  return usageOf({ input, output, cached: objectIn(usage.prompt_tokens_details).cached_tokens });
}

/** The most times that the arguments of one call are parsed to find out whether a fragment begins another call. */
const MAX_PARSES = 100;

/** The call that a fragment names. A fragment may leave out any of these. */
interface NamedCall {
  readonly index: number | undefined;
  id: string;
  name: string;
}

interface Draft extends NamedCall {
  argumentsText: string;
  readonly members: Members;
  parses: number;
}

/**
 * Assembles function calls from their fragments. A fragment belongs to the newest call of its index. Some servers omit the
 * index, or number every call 0, so a fragment with a name may start another call.
 */
class CallCollector {
  readonly #drafts: Draft[] = [];
  /** Whether a call grew after a later one had begun: then none is known to be closed. */
  #areInterleaved = false;

  add(fragment: JsonObject, bounds: OutputBounds): void {
    const { arguments: args, ...given } = objectIn(fragment.function);
    const [id, name] = [textIn(fragment.id), textIn(given.name)];
    const index = typeof fragment.index === 'number' ? fragment.index : undefined;
    const draft = this.#draftFor({ index, id, name });
    this.#areInterleaved ||= draft !== this.#drafts.at(-1);
    if (id && id !== draft.id) draft.id += id;
    if (name && name !== draft.name) draft.name += name;
    bounds.blocks(this.#drafts.length);
    draft.members.add(fragment, bounds);
    if (typeof args === 'string') draft.argumentsText += bounds.chunk(args);
    else if (args !== undefined && args !== null) draft.argumentsText = JSON.stringify(args);
  }

  /**
   * The calls in the order in which they started, each after the block of its further members. The API does not say when
   * a call is whole: it is closed once a later one has begun, as long as the calls do not grow at the same time.
   */
  blocks(): readonly AnswerBlock[] {
    return this.#drafts.flatMap((draft, at) => {
      const isFollowed = at < this.#drafts.length - 1 && draft.argumentsText !== '';
      const isOpen = this.#areInterleaved || !isFollowed;
      return [...draft.members.blocks(), toFunctionCall(draft, isOpen)];
    });
  }

  #draftFor(named: NamedCall): Draft {
    const { index } = named;
    const open = this.#drafts.findLast((draft) => index === undefined || draft.index === index);
    if (open && !beginsAnother(named, open)) return open;
    const members = new Members('chat-call');
    const draft: Draft = { index, id: '', name: '', argumentsText: '', members, parses: 0 };
    this.#drafts.push(draft);
    return draft;
  }
}

function beginsAnother({ index, id, name }: NamedCall, open: Draft): boolean {
  if (!name) return false;
  if (id && open.id) return id !== open.id;
  if (index === undefined) return true;
  open.parses += 1;
  return open.parses <= MAX_PARSES && keepableObject(open.argumentsText) !== undefined;
}
