import { useState } from 'preact/hooks';
import { call, newId, owner, pathOf } from './api.js';
import { agentsOf, loadNode, node, type Peer } from './node.js';
import { Ago, link, Note, TwoClicks, useLoaded } from './page.js';

interface Card {
  readonly name: string;
  readonly description?: string;
  readonly version?: string;
  readonly supportedInterfaces?: readonly { readonly url: string; readonly protocolBinding: string }[];
  readonly skills?: readonly { readonly id: string; readonly name: string }[];
  readonly signatures?: readonly unknown[];
}

const REFRESH_MS = 5_000;

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

function OwnAgent({ name, isRoot }: { readonly name: string; readonly isRoot: boolean }) {
  const { value, fault } = useLoaded(
    async () => (await (await call(`${pathOf(name)}/.well-known/agent-card.json`)).json()) as Card,
    [name],
  );
  return (
    <section class="card" aria-label={name}>
      <h3>
        {name} {isRoot && <small>the root agent</small>}
      </h3>
      {!value && <p>{fault || 'Loading its card…'}</p>}
      {value && (
        <>
          <p class="text">{value.description}</p>
          <p class="facts">
            {(value.skills ?? []).map((skill) => skill.name).join(', ')}
            <br />
            Transports:{' '}
            {[...new Set(value.supportedInterfaces?.map((one) => one.protocolBinding))].join(', ')}.{' '}
            {value.signatures?.length ? 'Its card is signed.' : 'Its card has no signature.'}
          </p>
        </>
      )}
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
  const { name, state, url, since, reason, hint, description, skills } = peer;
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
      <p class="text">{description}</p>
      <p class="text facts">
        {url} {since !== undefined && <Ago at={since} />} {skills.map((skill) => skill.name).join(', ')}
      </p>
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
      setNote('Added. It stays over restarts.');
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
