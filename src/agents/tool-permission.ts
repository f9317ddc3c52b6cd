import { refuse, type CallOutcome } from './agent-function.js';
import { MAX_OPEN_QUESTIONS, askPerson, questionHash } from './asking.js';
import { failureText, questionOf, quotedReason, withinTimeout } from './tool-work.js';
import type { ApprovalPolicy, Work } from './tool-work.js';

const TOO_MANY = `${MAX_OPEN_QUESTIONS} questions of this task are open already`;

/** Asks a person to approve the call if the policy requires it. Returns undefined once the call may run, else its outcome. */
export async function approvalOutcome(work: Work): Promise<CallOutcome | undefined> {
  const { call, tool, input, rules } = work;
  if (!asksBefore(tool.name, rules.approval, () => tool.danger(input) === 'dangerous')) return undefined;
  const description = tool.describe?.(input);
  const question = questionOf(call, rules.limits, {
    hash: description === undefined ? call.key : questionHash(call.key, description),
    kind: 'approval',
    text: `May ${call.run.task.agent} ${description ?? `run ${tool.name} with these arguments`}?`,
  });
  if (!call.run.questions.has(question.hash)) {
    const obstacle = await obstacleTo(work);
    if (obstacle !== undefined) return refuse(call, obstacle);
  }
  const verdict = askPerson(question, call.run, call.step);
  switch (verdict.decision) {
    case 'open':
      return verdict.outcome;
    case 'approve':
      return undefined;
    case 'deny':
      return refuse(call, `a person refused this call${quotedReason(verdict.text)}; do not try it again`);
    case 'refused':
      return refuse(call, `the call needs approval, but ${TOO_MANY}; wait for the replies`);
    case 'expired':
      return refuse(call, 'nobody allowed this call in time, so it was not made; do not try it again');
  }
}

/** Returns why the call would fail even if a person approved it; undefined when no reason is known. */
async function obstacleTo(work: Work): Promise<string | undefined> {
  const { tool, input } = work;
  try {
    await withinTimeout({ ...work, isCheck: true }, async (context) => tool.check?.(input, context));
    return undefined;
  } catch (error) {
    return failureText(work, error);
  }
}

/** Whether the policy has a person asked before a call of the tool. Default of `isDangerous`: it is. */
export function asksBefore(tool: string, policy: ApprovalPolicy, isDangerous = () => true): boolean {
  switch (policy) {
    case 'none':
      return false;
    case 'all':
      return true;
    case 'dangerous':
      return isDangerous();
    default:
      return policy.includes(tool);
  }
}
