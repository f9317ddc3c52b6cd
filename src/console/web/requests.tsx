import { useState } from 'preact/hooks';
import type { SentPart, SentRequest } from '../../core/sent-request.js';
import { owner } from './api.js';
import { Icon } from './icons.js';
import { Choice, Note, number, place, useLoaded } from './page.js';
import { Copy, visible } from './parts.js';
import type { Task } from './wire.js';

const KINDS = { function: 'Functions', instruction: 'Instruction', message: 'Messages' } as const;
const MATCHES = {
  same: 'It is the request that was sent: its hash is the recorded one.',
  different: 'It is not exactly what was sent.',
  unknown: 'The record holds no hash of the request, so it may differ from what was sent.',
};

/** The request of each turn, with marks on the parts that the turn before did not have. */
export function Requests({ task: { id } }: Readonly<{ task: Task }>) {
  const [, turn] = /\?turn=(\d{1,6})$/.exec(place.value) ?? [];
  // The turn that the address names; empty for the last one.
  const [step, setStep] = useState(turn === undefined ? '' : `t${turn}`);
  const path = `tasks/${encodeURIComponent(id)}/request${step === '' ? '' : `?step=${step}`}`;
  const { value, fault } = useLoaded(() => owner<SentRequest>(path), [path]);
  if (!value) return <Note>{fault || 'Building the request again…'}</Note>;
  const { steps, match, changed, model, input, cached, gone } = value;
  // In the first turn everything is new, so nothing of it is marked.
  const parts =
    value.step === steps[0] ? value.parts.map((part) => ({ ...part, isNew: false })) : value.parts;
  return (
    <section aria-label="What the model was sent">
      <div class="filters">
        <Choice
          label="Turn"
          value={value.step}
          names={steps}
          wordsOf={(name) => `${steps.indexOf(name) + 1} of ${steps.length}`}
          onChoose={setStep}
        />
      </div>
      {fault && <Note>{fault}</Note>}
      <p class={match === 'same' ? 'facts' : 'facts waits'}>
        <Icon name={match === 'same' ? 'completed' : 'warning'} /> {MATCHES[match]}{' '}
        {match === 'different' && differenceWords(changed)}
      </p>
      <p class="facts">
        {visible(model)} · {number(input)} tokens in, {number(cached)} of them cached. The sizes of parts are
        estimates.
      </p>
      <Shares parts={parts} />
      {(['function', 'instruction', 'message'] as const).map((kind) => (
        <Group key={kind} title={KINDS[kind]} parts={parts.filter((part) => part.kind === kind)} />
      ))}
      {gone.length > 0 && <Group title="Only in the turn before" parts={gone} />}
    </section>
  );
}

function differenceWords(changed: readonly string[]): string {
  return changed.length === 0
    ? 'The model also got memories or earlier tasks of the conversation, which are not in the record.'
    : `Changed since: ${visible(changed.join(', '))}.`;
}

/** The size of each part, in the order in which the vendor reads them. */
function Shares({ parts }: Readonly<{ parts: readonly SentPart[] }>) {
  const all = Math.max(1, tokensOf(parts));
  return (
    <p class="shares" role="img" aria-label={`${number(all)} tokens: functions, instruction, messages`}>
      {parts.map((part, index) => (
        <i
          key={index}
          class={`${part.kind} ${part.isCached ? 'cached' : ''}`}
          style={{ width: `${(100 * part.tokens) / all}%` }}
          title={visible(`${part.name}: ${number(part.tokens)} tokens${part.isCached ? ', cached' : ''}`)}
        />
      ))}
    </p>
  );
}

const tokensOf = (parts: readonly SentPart[]) => parts.reduce((sum, { tokens }) => sum + tokens, 0);

function Group({ title, parts }: Readonly<{ title: string; parts: readonly SentPart[] }>) {
  if (parts.length === 0) return null;
  return (
    <>
      <h3>
        {title} <small class="facts">≈ {number(tokensOf(parts))} tokens</small>
      </h3>
      {parts.map((part, index) => (
        <Part key={`${index} ${part.name}`} part={part} />
      ))}
    </>
  );
}

function Part({ part: { kind, name, text, tokens, isCached, isNew } }: Readonly<{ part: SentPart }>) {
  return (
    <details class="part" open={isNew && kind === 'message'}>
      <summary>
        {isNew && <Icon name="added" />}
        {visible(name)}{' '}
        <small class="facts">
          ≈ {number(tokens)} tokens{isNew && ' · new in this turn'}
          {isCached && ' · cached'}
        </small>
      </summary>
      <pre class="plain" tabIndex={0} dir="auto">
        {visible(text)}
      </pre>
      <Copy text={text} />
    </details>
  );
}
