import type { FunctionSpec, ModelRequest } from '../../core/model.js';
import { BYTES_PER_TOKEN } from '../../core/text.js';
import { attachmentNote } from './report.js';
import { declineReason, notUnderstood, replyTo } from './answers.js';
import { ASK, DECLINE, TRANSFER } from './control.js';
import { offers, type Decision, type Desk } from './decision.js';
import { delegate } from './delegate.js';
import { createInterpreter } from './interpreter.js';
import { writePlan } from './plan.js';
import { draftScript, parseDraft, readScript } from './script.js';
import { readTurn } from './turn.js';
import { work } from './work.js';

/** What the model says to a request. Pure: the same request gives the same decision, ids included. */
export function decide(request: ModelRequest): Decision {
  const interpreter = createInterpreter(request.functions);
  const turn = readTurn(request.messages, (text) => interpreter.matches(text)[0]?.grade === 'full');
  const known = turn.draft && parseDraft(turn.draft);
  const draft = known ?? draftScript(turn.text, interpreter, offers(request, TRANSFER));
  const script = readScript(draft, turn.text, interpreter);
  const desk: Desk = { request, turn, interpreter, script, limitBytes: request.maxTokens * BYTES_PER_TOKEN };
  if (script.rounds.length === 0) return talk(desk);
  const decision = script.stages ? delegate(desk, script.stages) : work(desk);
  return 'calls' in decision && !known ? { ...decision, draft } : decision;
}

/** What is said when nothing is to be done. */
function talk(desk: Desk): Decision {
  const { turn, interpreter, script, request } = desk;
  const notes = attachmentNote(turn.attachments);
  if (turn.text === '') {
    const nothing = notes.length > 0 ? [] : ['Your message is empty. What can I do for you?'];
    return { text: [...nothing, ...notes].join('\n\n') };
  }
  const kinds = [...new Set(script.talk)];
  const said = kinds.map((kind) => replyTo(kind, interpreter.abilities));
  const { unknown } = script;
  if (unknown.length === 0 && said.length > 0) return { text: [...said, ...notes].join('\n\n') };
  if (isPlanner(request)) {
    const goal = said.length === 0 ? turn.text : unknown.join(', then ');
    return { text: [writePlan(goal), ...notes].join('\n\n') };
  }
  const sentence = unknown.join(' ') || turn.text;
  const nearest = interpreter.nearest(sentence);
  const isDeclined = turn.calls.some(({ name }) => name === DECLINE);
  if (said.length === 0 && !isDeclined && offers(request, DECLINE)) {
    const reason = declineReason(sentence, nearest);
    const call = { id: turn.newCallId(0, 0), name: DECLINE, arguments: { reason } };
    return { calls: [{ type: 'function-call', ...call }] };
  }
  return { text: [...said, notUnderstood(sentence, nearest), ...notes].join('\n\n') };
}

/** An agent that is told to plan and has nothing else to do it with than words. */
function isPlanner({ functions, system }: ModelRequest): boolean {
  const isControl = ({ name }: FunctionSpec) => name === ASK || name === DECLINE;
  return (
    functions.length > 0 &&
    functions.every(isControl) &&
    system.some(({ text }) => /\bplan(s|ning)?\b/i.test(text))
  );
}
