import type { AgentState } from '../../core/node-status.js';
import { newId, owner } from './api.js';
import { agentsOf, loadNode, node, readCard } from './node.js';
import { Ago, Field, Form, link, Note, TwoClicks, useAction, useLoaded, writtenIn } from './page.js';
import { visible } from './parts.js';

const REFRESH_MS = 5_000;
const MOST_CHARACTERS = 2_000;

export function AgentsView() {
  const { fault, reload } = useLoaded(loadNode, [], REFRESH_MS);
  const status = node.value;
  if (!status) return <Note>{fault || 'Loading the agents…'}</Note>;
  const { peers, findings = [] } = status;
  const remote = peers.filter(({ kind }) => kind === 'remote');
  return (
    <section>
      <h2>Agents of this server</h2>
      {fault && <Note>{fault}</Note>}
      {agentsOf(status).map((name) => (
        <OwnAgent key={name} name={name} isRoot={name === status.root} />
      ))}
      <h2>Remote agents</h2>
      {remote.length === 0 && <Note>There are no remote agents.</Note>}
      {remote.map((peer) => (
        <RemoteAgent key={peer.name} peer={peer} root={status.root} onChange={reload} />
      ))}
      <AddAgent onAdded={reload} />
      {findings.length > 0 && <h2>Findings</h2>}
      {findings.map(({ subject, text, hint }) => (
        <article key={`${subject} ${text}`}>
          <p class="text">
            {subject}: {text} {hint}
          </p>
        </article>
      ))}
    </section>
  );
}

export function Lint({ findings }: Pick<Awaited<ReturnType<typeof readCard>>, 'findings'>) {
  if (findings.length === 0) return <p>Nothing is wrong with its card.</p>;
  return (
    <details>
      <summary>
        {findings.length} {findings.length === 1 ? 'finding' : 'findings'} about its card
      </summary>
      <ul>
        {findings.map(({ severity, path, text }) => (
          <li key={path + text} class="text">
            {severity}: {visible(`${path || 'The card'} ${text}`)}
          </li>
        ))}
      </ul>
    </details>
  );
}

function CardOf({ name }: { readonly name: string }) {
  const { value, fault } = useLoaded(() => readCard(name), [name]);
  if (!value) return <p>{fault || 'Loading its card…'}</p>;
  const { description = '', version = '', skills = [], signatures = [] } = value.card;
  const transports = [...new Set(value.card.supportedInterfaces?.map((one) => one.protocolBinding))];
  return (
    <>
      <p class="text">{visible(description.slice(0, MOST_CHARACTERS))}</p>
      <p class="text facts">
        {visible(skills.map((skill) => skill.name).join(', '))}
        <br />
        Version {visible(version)}. Transports: {visible(transports.join(', '))}.{' '}
        {signatures.length > 0 ? 'Its card is signed.' : 'Its card has no signature.'}
      </p>
      <Lint findings={value.findings} />
    </>
  );
}

function OwnAgent({ name, isRoot }: { readonly name: string; readonly isRoot: boolean }) {
  return (
    <section class="card" aria-label={name}>
      <h3>
        {name} {isRoot && <small>the root agent</small>}
      </h3>
      <CardOf name={name} />
      <a href={link('chat', name, newId())}>Chat with it</a>
    </section>
  );
}

function RemoteAgent({
  peer,
  root,
  onChange,
}: Readonly<{ peer: AgentState; root: string; onChange: () => void }>) {
  const { name, state, url, since, reason, hint, description } = peer;
  const { note, act } = useAction();
  const remove = () => act(() => owner(`agents/${encodeURIComponent(name)}`, 'DELETE').then(onChange));
  return (
    <section class="card" aria-label={name}>
      <h3>
        {name} <small class={state === 'ready' ? 'state' : 'state waits'}>{state}</small>
      </h3>
      <p class="text facts">
        {url} {since !== undefined && <Ago at={since} />}
      </p>
      {description !== undefined && <CardOf name={name} />}
      {(reason ?? hint) !== undefined && (
        <p class="text">
          {reason} {hint}
        </p>
      )}
      {note && <Note>{note}</Note>}
      <p class="buttons">
        <a href={link('chat', root, newId())}>Try it: ask {root} for it</a>
        <TwoClicks
          label="Remove"
          confirm={`Really remove ${name}`}
          kind="danger"
          onConfirm={() => void remove()}
        />
      </p>
    </section>
  );
}

function AddAgent({ onAdded }: Readonly<{ onAdded: () => void }>) {
  const { note, act } = useAction();
  const add = async (form: HTMLFormElement) => {
    const text = (name: string) => writtenIn(form, name).trim();
    await owner('agents', 'POST', {
      name: text('name'),
      url: text('url'),
      ...(text('token') === '' ? {} : { token: text('token') }),
      ...(new FormData(form).has('private') ? { allowPrivate: true } : {}),
    });
    form.reset();
    onAdded();
    return 'Added, also for later starts.';
  };
  return (
    <Form class="card" onSend={(form) => act(() => add(form), 'Reading its card…')}>
      <h3>Add a remote agent</h3>
      <Field
        label="Address"
        name="url"
        type="url"
        required
        placeholder="https://example.org/agents/weather"
      />
      <Field label="Name on this server" name="name" required pattern="[a-z0-9][a-z0-9_\-]*" />
      <Field label="Token to send to it (optional)" name="token" type="password" autocomplete="off" />
      <label class="check">
        <input name="private" type="checkbox" /> Its address is private or of this machine
      </label>
      <button class="primary">Add</button>
      {note && <Note>{note}</Note>}
    </Form>
  );
}
