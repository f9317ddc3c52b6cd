import { TaskState, type Part, type Task } from '@a2a-js/sdk';
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { JsonObject } from '../../../core/json.js';
import { questionsIn } from '../../../core/questions.js';
import { isTerminal, type Question } from '../../../core/task.js';
import { fromWireMessage, fromWireState } from '../../translate/content.js';
import type { WireError } from '../../translate/errors.js';
import type { Outcome } from './agent-call.js';

type Block = CallToolResult['content'][number];

/** The result of a tool: the artifacts as content, and the task with its open questions as structured content. */
export function toResult(outcome: Outcome): CallToolResult {
  if ('messageId' in outcome)
    return { content: outcome.parts.flatMap((part) => blockOf(part, outcome.messageId)) };
  const { id, contextId, status, artifacts } = outcome;
  const state = status && fromWireState(status.state);
  const isOver = state !== undefined && isTerminal(state);
  const questions = openQuestions(outcome);
  const named = artifacts.flatMap(({ artifactId: name, parts }) => parts.map((part) => ({ part, name })));
  const said = status?.message?.parts.flatMap((part) => blockOf(part, 'status')) ?? [];
  return {
    content: [
      ...named.flatMap(({ part, name }, index) => blockOf(part, `${id}/${name}/${index}`)),
      ...said.filter(({ type }) => type === 'text'),
      ...(isOver ? [] : [{ type: 'text' as const, text: nextStep(id, questions) }]),
    ],
    structuredContent: {
      taskId: id,
      contextId,
      state: state ?? 'unknown',
      ...(questions.length > 0 ? { questions: questions as unknown as JsonObject[] } : {}),
    },
    ...(isOver && state !== 'completed' ? { isError: true } : {}),
  };
}

export function openQuestions({ status }: Task): readonly Question[] {
  if (status?.state !== TaskState.TASK_STATE_INPUT_REQUIRED || !status.message) return [];
  return questionsIn(fromWireMessage(status.message).parts);
}

/** An error as a result, which a model reads and can act on. */
export function toErrorResult({ message, details }: WireError): CallToolResult {
  return {
    content: [{ type: 'text', text: message }],
    structuredContent: { error: { message, details } as JsonObject },
    isError: true,
  };
}

function nextStep(taskId: string, questions: readonly Question[]): string {
  if (questions.length === 0) return `Call this tool with taskId ${taskId} to go on with the task.`;
  const asked = questions.map(({ hash, kind, text, tool, arguments: given }) =>
    JSON.stringify({ hash, kind, text, tool, arguments: given }),
  );
  const how = `Show a person these questions, and call this tool with taskId ${taskId} and their answers:`;
  return [how, ...asked].join('\n');
}

function blockOf({ content, mediaType, filename }: Part, name: string): Block[] {
  const mimeType = mediaType || 'application/octet-stream';
  const uri = `urn:lango:task:${encodeURI(name)}`;
  switch (content?.$case) {
    case 'text':
      return [{ type: 'text', text: content.value }];
    case 'data':
      return [{ type: 'text', text: JSON.stringify(content.value) }];
    case 'url':
      return [{ type: 'resource_link', uri: content.value, name: filename || name, mimeType }];
    case 'raw': {
      const data = Buffer.from(content.value).toString('base64');
      if (mimeType.startsWith('image/')) return [{ type: 'image', data, mimeType }];
      if (mimeType.startsWith('audio/')) return [{ type: 'audio', data, mimeType }];
      return [{ type: 'resource', resource: { uri, mimeType, blob: data } }];
    }
    case undefined:
      return [];
  }
}
