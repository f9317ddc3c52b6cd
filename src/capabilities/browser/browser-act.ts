import { LangoError, errorText, type ErrorCode } from '../../core/errors.js';
import { referencedSecrets } from '../../core/secrets.js';
import type { ToolOutput } from '../../core/tool.js';
import type { Action, Steps } from './driver-messages.js';
import { describePage, resolveRef, staleRef } from './browser-read.js';
import { differences, readPageState, untilQuiet, type PageState } from './page-change.js';
import type { ActionResult } from './page-functions.js';
import type { Session } from './session.js';

const PREVIEW_CHARACTERS = 1_000;

interface Target {
  readonly session: Session;
  readonly ref: string;
  readonly number: number;
}

export async function act(session: Session, { ref, action, value }: Steps['act']): Promise<ToolOutput> {
  const target = { session, ref, number: await resolveRef(session, ref) };
  const before = await readPageState(session);
  const facts = await untilQuiet(session, async () => {
    await perform(target, action, value);
    return [`Done: ${action} on ${ref}`];
  });
  return { content: await describeChange(session, before, facts) };
}

async function perform(target: Target, action: Action, value: string): Promise<void> {
  switch (action) {
    case 'click':
      return click(target, await accepted(target, target.session.call('point', target.number, true)));
    case 'check':
    case 'uncheck':
      return setChecked(target, action === 'check');
    case 'type':
      return type(target, value);
    case 'select':
      return void (await accepted(target, target.session.call('select', target.number, value)));
    case 'press':
      return press(target, value);
  }
}

function click({ session }: Target, { x = 0, y = 0 }: ActionResult): Promise<void> {
  return session.withTimeout(session.page.mouse.click(x, y));
}

async function setChecked(target: Target, wanted: boolean): Promise<void> {
  const { session, ref, number } = target;
  const found = await accepted(target, session.call('point', number, false));
  if (found.checked === undefined)
    throw new LangoError('invalid-input', `ref: ${ref} is not a checkbox; use the action "click".`);
  if (found.checked === wanted) return;
  await click(target, found);
  const after = await accepted(target, session.call('checked', number));
  if (after.checked === wanted) return;
  const state = wanted ? 'unchecked' : 'checked';
  throw new LangoError('tool', `The page kept ${ref} ${state} after the click.`);
}

async function type(target: Target, value: string): Promise<void> {
  const { session, number } = target;
  const { keyboard } = session.page;
  const { isPicker, isPassword } = await accepted(target, session.call('focus', number, true));
  if (isPicker) return void (await accepted(target, session.call('put', number, value)));
  const text = await textToType(target, value, isPassword ?? false);
  await session.withTimeout(text === '' ? keyboard.press('Delete') : keyboard.insertText(text));
}

/** Resolves secrets for password fields only, because other fields show the value on the page and in screenshots. */
async function textToType({ session, ref }: Target, value: string, isPassword: boolean): Promise<string> {
  if (referencedSecrets(value).length === 0) return value;
  if (!isPassword) {
    const problem = `${ref} is not a password field; secrets are typed into password fields only.`;
    throw new LangoError('forbidden', problem);
  }
  return session.server.resolveSecrets({ text: value, host: new URL(session.page.url()).hostname });
}

async function press(target: Target, key: string): Promise<void> {
  const { session, number } = target;
  await accepted(target, session.call('focus', number, false));
  try {
    await session.withTimeout(session.page.keyboard.press(key));
  } catch (error) {
    if (!/Unknown key/.test(errorText(error))) throw error;
    const problem = `value: "${key.slice(0, 50)}" is not a key name; use a name such as "Enter" or "Tab".`;
    throw new LangoError('invalid-input', problem);
  }
}

/** For each problem that the page script reports: our error code and a sentence about the element. */
const PROBLEMS: Readonly<Record<string, readonly [ErrorCode, (ref: string, by: string) => string]>> = {
  disabled: ['conflict', (ref) => `${ref} is disabled or read-only.`],
  hidden: ['conflict', (ref) => `${ref} is not visible on the page.`],
  covered: ['conflict', (ref, by) => `${ref} is covered by another element (${by}).`],
  'not-editable': ['invalid-input', (ref) => `ref: ${ref} is not a text field.`],
  'not-select': ['invalid-input', (ref) => `ref: ${ref} is not a select element; use the action "click".`],
  'no-option': ['invalid-input', (ref, by) => `value: ${ref} has no such option. Its options: ${by}.`],
  refused: ['invalid-input', (ref) => `value: ${ref} does not accept this value. ${DATE_ADVICE}`],
};
const DATE_ADVICE = 'Dates are written as "2026-01-31".';
const COVERED_HINT = 'Close the covering element first; browser_observe lists the elements.';

/** Throws what the page script says against an action. */
async function accepted({ ref }: Target, acting: Promise<ActionResult>): Promise<ActionResult> {
  const result = await acting;
  const { problem = '', by = '' } = result;
  if (problem === 'gone') throw staleRef(ref);
  const known = PROBLEMS[problem];
  if (!known) return result;
  const [code, describe] = known;
  throw new LangoError(code, describe(ref, by), problem === 'covered' ? { hint: COVERED_HINT } : {});
}

/** Describes the change: a new page by the start of its text, the same page by its differences. */
async function describeChange(session: Session, before: PageState, facts: readonly string[]) {
  const after = await readPageState(session);
  if (after.page !== before.page) {
    const opened = 'The action opened another page: call browser_observe for its refs';
    const preview = [...after.lines].join('\n').slice(0, PREVIEW_CHARACTERS);
    return describePage(session, [...facts, opened], preview);
  }
  const changes = differences(before, after);
  const moved = after.url === before.url ? [] : ['The address changed'];
  if (changes.length > 0) return describePage(session, [...facts, ...moved], changes.join('\n'));
  return describePage(session, [...facts, ...moved, 'Nothing that can be seen changed']);
}
