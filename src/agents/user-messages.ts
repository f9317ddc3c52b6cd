import { isJsonObject } from '../core/json.js';
import { textOf, type Message, type Part } from '../core/message.js';
import type { ModelMessage } from '../core/model.js';
import { findReply } from './asking.js';
import type { Run } from '../core/run.js';

/** The metadata key of a delegated request that holds the user's own message (requirement D7). */
const USER_MESSAGE_KEY = 'urn:lango:a2a:user-message:v1';

const LONGEST_USER_MESSAGE = 8_000;

/** Leaves out a person's replies to questions: they go to the call that asked. */
export function withoutReplies(parts: readonly Part[]): readonly Part[] {
  return parts.filter((part) => !isReply(part));
}

function isReply(part: Part): boolean {
  if (part.kind === 'text') return /^(approve|deny) [0-9a-z]{4}\b[.!]?$/i.test(part.text.trim());
  if (part.kind !== 'data' || !isJsonObject(part.data)) return false;
  const reply = part.data['answer'];
  return isJsonObject(reply) && typeof reply['hash'] === 'string';
}

/**
 * The user's messages of one task, each given to the model once: first the request, then follow-ups. Leaves out replies
 * to questions, which reach the model as the result of the call that asked, and messages that came in place of an
 * approval, which have no effect.
 */
export class UserMessages {
  readonly #run: Run;
  #readCount = 1;

  constructor(run: Run) {
    this.#run = run;
  }

  request(): readonly ModelMessage[] {
    return this.#run.inputs.slice(0, 1).map(({ message: { parts } }) => ({ role: 'user', parts }));
  }

  /** The number of messages that the model has got, or will not get. */
  get readCount(): number {
    return this.#readCount;
  }

  /** Returns the messages that came since the last call, up to a number of all messages. */
  unread(upTo?: number): readonly ModelMessage[] {
    const { inputs, questions } = this.#run;
    const replies = [...questions.values()].map((one) => findReply(one, inputs));
    const inWords = replies.flatMap((given) => (given?.isText ? given.message.id : []));
    const notForModel = new Set([...this.#leftOpen(), ...inWords]);
    const unread = inputs.slice(this.#readCount, upTo);
    this.#readCount += unread.length;
    return unread.flatMap(({ message }) => {
      const parts = notForModel.has(message.id) ? [] : withoutReplies(message.parts);
      return parts.length === 0 ? [] : [{ role: 'user' as const, parts }];
    });
  }

  /** Whether the newest message came while an approval was open and did not decide it. */
  get leftApprovalOpen(): boolean {
    const newest = this.#run.inputs.at(-1)!;
    return this.#leftOpen().has(newest.message.id);
  }

  /** The ids of messages that left an approval open: the reply was the question again, so they are no requests. */
  #leftOpen(): ReadonlySet<string> {
    const { inputs, questions } = this.#run;
    const asked = [...questions.values()];
    const replies = new Set(asked.flatMap((one) => findReply(one, inputs)?.seq ?? []));
    const waits = asked
      .filter(({ question }) => question.kind !== 'input')
      .map((one) => ({
        from: one.shownAt ?? Infinity,
        to: findReply(one, inputs)?.seq ?? one.expiredAt ?? Infinity,
      }));
    const beside = inputs.filter(
      ({ seq }) => !replies.has(seq) && waits.some(({ from, to }) => from < seq && seq < to),
    );
    return new Set(beside.map(({ message }) => message.id));
  }
}

/** Returns the user's own message when the task is a delegated one that asks for something in other words. */
export function userMessageBesideRequest(run: Run): string | undefined {
  const relayed = relayedUserMessage(run);
  const [request] = withoutFiles(run.inputs[0]?.message.parts ?? []);
  return request?.kind === 'text' && request.text === relayed ? undefined : relayed;
}

function withoutFiles(parts: readonly Part[]): readonly Part[] {
  return parts.filter(({ filename }) => filename === undefined);
}

/** Returns the user's own message of a delegated task; undefined when the task is the user's own. */
function relayedUserMessage(run: Run): string | undefined {
  const text = run.inputs[0]?.message.metadata?.[USER_MESSAGE_KEY];
  return typeof text === 'string' ? text.slice(0, LONGEST_USER_MESSAGE) : undefined;
}

/** Returns what a delegated request carries of the user's message: its text as metadata, its files and data as parts. */
export function carriedUserMessage(run: Run): Pick<Message, 'parts' | 'metadata'> {
  const parts = run.inputs[0]?.message.parts ?? [];
  const text = relayedUserMessage(run) ?? textOf(withoutFiles(parts)).slice(0, LONGEST_USER_MESSAGE);
  return {
    parts: withoutReplies(parts).filter(({ kind, filename }) => kind !== 'text' || filename !== undefined),
    metadata: { [USER_MESSAGE_KEY]: text },
  };
}
