import type { AgentProfile, Peer, PeerEvent, PeerRequest } from '../../core/agent.js';
import { EXTENSIONS } from '../../core/extensions.js';
import { chainMetadata } from '../translate/extensions.js';
import { inFormOf } from './foreign-question.js';
import { callerOf, type Link } from './link.js';
import type { WatchLimits } from './limits.js';
import { TaskReader } from './reader.js';
import { findTaskByMessage, cancelTaskOf, watchTask, type RetryRules, type SentMessage } from './watch.js';

export interface PeerFacts {
  readonly profile: AgentProfile;
  readonly link: Link;
  readonly retry: RetryRules;
  readonly limits: WatchLimits;
  readonly rename: (author: string) => string;
  /** Whether the agent runs on another server. */
  readonly isRemote: boolean;
}

const OUTCOME_UNKNOWN =
  'the request may have reached it before this server restarted, and its outcome cannot be found out';

/** Creates the core `Peer` for the agent behind `link`. */
export function createPeer({ profile, link, retry, limits, rename, isRemote }: PeerFacts): Peer {
  return {
    ...profile,
    isRemote,
    async *send(request, signal): AsyncGenerator<PeerEvent, void, undefined> {
      const taskId = request.taskId ?? (await findRepeated(link, request));
      // A known task without a new reply is watched again. Its message is never sent a second time.
      const isWatch = taskId !== undefined && (request.isReply !== true || isUnsafe(link, request));
      const reader = new TaskReader({
        agent: profile.name,
        taskId,
        contextId: request.peerContextId ?? request.contextId,
        ourContextId: isRemote ? request.contextId : undefined,
        isReply: request.isReply ?? false,
        rename,
        isRemote,
        followsAuthorization: true,
        limits,
      });
      if (!isWatch && isUnsafe(link, request)) {
        yield reader.giveUp('failed', OUTCOME_UNKNOWN);
        return;
      }
      // A request that may have reached the peer before is followed even while the breaker is open.
      if (!isWatch && request.isRepeat !== true && link.breaker?.isOpen === true) {
        yield { type: 'away', reason: link.breaker.reason ?? '' };
        if (!(await link.breaker.closes(signal)) && !signal.aborted) {
          yield reader.giveUp('failed', `it does not respond at the moment: ${link.breaker.reason}`);
          return;
        }
      }
      const { grant, parentTaskId: task } = request;
      const { trace } = grant;
      const caller = callerOf(request.scope, grant);
      const mayBeLate = request.isReply ?? false;
      const watch = { link, reader, scope: caller, task };
      const start = isWatch ? {} : { request: delegated(request), mayBeLate };
      for await (const event of watchTask({ ...watch, trace, signal, retry, limits, ...start })) {
        if (event.type !== 'status') yield event;
      }
    },
    cancel: (by, task) => cancelTaskOf(link, callerOf(by, by.grant), task),
  };
}

/** Whether the message may have been sent before, to a peer that would act on it a second time. */
function isUnsafe({ replays }: Link, { isRepeat }: PeerRequest): boolean {
  return isRepeat === true && !replays;
}

async function findRepeated(link: Link, request: PeerRequest): Promise<string | undefined> {
  if (!isUnsafe(link, request)) return undefined;
  const { scope, grant, message } = request;
  const contextId = request.peerContextId ?? request.contextId;
  return findTaskByMessage(link, callerOf(scope, grant), { contextId, messageId: message.id });
}

/** The message with the chain of delegations that it extends. */
function delegated(request: PeerRequest): SentMessage {
  const { message, parentTaskId, grant, taskId = '', questions = [] } = request;
  return {
    message: {
      ...message,
      parts: inFormOf(questions, message.parts),
      metadata: { ...message.metadata, ...chainMetadata(parentTaskId, grant) },
      extensions: [...new Set([...(message.extensions ?? []), EXTENSIONS.chain])],
    },
    taskId,
    contextId: request.peerContextId ?? request.contextId,
  };
}
