import { useState } from 'preact/hooks';
import { newId, owner } from './api.js';
import { agentsOf, loadNode, node, type Peer } from './node.js';
import { Ago, link, Note, TwoClicks, useLoaded } from './page.js';
import { visible } from './parts.js';

interface Card {
  readonly name: string;
  readonly description?: string;
  readonly version?: string;
  readonly supportedInterfaces?: readonly { readonly url: string; readonly protocolBinding: string }[];
  readonly skills?: readonly { readonly id: string; readonly name: string }[];
  readonly signatures?: readonly unknown[];
}

const REFRESH_MS = 5_000;
const MOST_CHARACTERS = 2_000;

export function AgentsView() {
  const { fault, reload } = useLoaded(loadNode, [], REFRESH_MS);
  const status = node.value;
  if (!status) return <Note>{fault || 'Loading the agents…'}</Note>;
  const remote = status.peers.filter(({ kind }) => kind === 'remote');
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
      {(status.findings ?? []).length > 0 && <h2>Findings</h2>}
      {(status.findings ?? []).map(({ subject, text, hint }) => (
        <article key={`${subject} ${text}`}>
          <p class="text">
            {subject}: {text} {hint}
          </p>
        </article>
      ))}
    </section>
  );
}

interface Finding {
  readonly severity: string;
  readonly path: string;
  readonly text: string;
}

/** The findings about the card of an agent, as `lango card --check` reports them. */
function Lint({ findings }: { readonly findings: readonly Finding[] }) {
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

/** The card of an agent, with the findings about it. */
function CardOf({ name }: { readonly name: string }) {
  const { value, fault } = useLoaded(
    () => owner<{ card: Card; findings: readonly Finding[] }>(`agents/${encodeURIComponent(name)}/card`),
    [name],
  );
  if (!value) return <p>{fault || 'Loading its card…'}</p>;
  const {
    description = '',
    version = '',
    skills = [],
    supportedInterfaces = [],
    signatures = [],
  } = value.card;
  const transports = [...new Set(supportedInterfaces.map((one) => one.protocolBinding))];
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

interface RemoteAgentProps {
  readonly peer: Peer;
  readonly root: string;
  readonly onChange: () => void;
}

function RemoteAgent({ peer, root, onChange }: RemoteAgentProps) {
  const { name, state, url, since, reason, hint, description } = peer;
  const [note, setNote] = useState('');
  const remove = () =>
    void owner(`agents/${encodeURIComponent(name)}`, 'DELETE').then(onChange, (error: Error) =>
      setNote(error.message),
    );
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
        <TwoClicks label="Remove" confirm={`Really remove ${name}`} kind="danger" onConfirm={remove} />
      </p>
    </section>
  );
}

function AddAgent({ onAdded }: { readonly onAdded: () => void }) {
  const [note, setNote] = useState('');
  const add = async (form: HTMLFormElement) => {
    const fields = new FormData(form);
    const text = (name: string) => (fields.get(name) as string | null)?.trim() ?? '';
    setNote('Reading its card…');
    try {
      await owner('agents', 'POST', {
        name: text('name'),
        url: text('url'),
        ...(text('token') === '' ? {} : { token: text('token') }),
        ...(fields.has('private') ? { allowPrivate: true } : {}),
      });
      setNote('Added, also for later starts.');
      form.reset();
      onAdded();
    } catch (error) {
      setNote((error as Error).message);
    }
  };
  return (
    <form
      class="card"
      onSubmit={(event) => {
        event.preventDefault();
        void add(event.currentTarget);
      }}
    >
      <h3>Add a remote agent</h3>
      <label>
        Address <input name="url" type="url" required placeholder="https://example.org/agents/weather" />
      </label>
      <label>
        Name on this server <input name="name" required pattern="[a-z0-9][a-z0-9_\-]*" />
      </label>
      <label>
        Token to send to it (optional) <input name="token" type="password" autocomplete="off" />
      </label>
      <label class="check">
        <input name="private" type="checkbox" /> Its address is private or of this machine
      </label>
      <button class="primary">Add</button>
      {note && <Note>{note}</Note>}
    </form>
  );
}
