import type { AgentStatus } from '../../core/node-status.js';
import { newId, owner } from './api.js';
import { Icon, Mark } from './icons.js';
import { agentsOf, loadNode, node, readCard } from './node.js';
import { Ago, counted, Field, Form, link, Note, TwoClicks, useAction, useLoaded, writtenIn } from './page.js';
import { visible } from './parts.js';

const REFRESH_MS = 5_000;
const MOST_CHARACTERS = 2_000;

export function AgentsView() {
  const { fault, reload } = useLoaded(loadNode, [], REFRESH_MS);
  const status = node.value;
  const own = status ? agentsOf(status) : [];
  // All at once, so that no card pushes down those below it.
  const cards = useLoaded(() => Promise.all(own.map(readCard)), [own.join(' ')]);
  if (!status || cards.value?.length !== own.length)
    return <Note>{fault || cards.fault || 'Loading the agents…'}</Note>;
  const { peers, findings = [] } = status;
  const remote = peers.filter(({ kind }) => kind === 'remote');
  return (
    <section>
      <h2>Agents of this server</h2>
      {fault && <Note>{fault}</Note>}
      {own.map((name, index) => (
        <OwnAgent key={name} name={name} found={cards.value![index]!} isRoot={name === status.root} />
      ))}
      <h2>Remote agents</h2>
      {remote.length === 0 && <Note>There are no remote agents. Add one below: its address is enough.</Note>}
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

export function Lint({ findings }: Pick<Found, 'findings'>) {
  if (findings.length === 0)
    return (
      <p class="facts">
        <Icon name="completed" /> Nothing is wrong with its card.
      </p>
    );
  return (
    <details>
      <summary>{counted(findings.length, 'finding')} about its card</summary>
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

function CardAt({ name }: { readonly name: string }) {
  const { value, fault } = useLoaded(() => readCard(name), [name]);
  return value ? <CardOf found={value} /> : <p>{fault || 'Loading its card…'}</p>;
}

type Found = Awaited<ReturnType<typeof readCard>>;

function CardOf({ found: { card, findings } }: { readonly found: Found }) {
  const { description = '', version = '', skills = [], signatures = [] } = card;
  const transports = [...new Set(card.supportedInterfaces?.map((one) => one.protocolBinding))];
  return (
    <>
      <p class="text">{visible(description.slice(0, MOST_CHARACTERS))}</p>
      <p class="text facts">
        {visible(skills.map((skill) => skill.name).join(', '))}
        <br />
        Version {visible(version)}. Transports: {visible(transports.join(', '))}.{' '}
        {signatures.length > 0 ? 'Its card is signed.' : 'Its card has no signature.'}
      </p>
      <Lint findings={findings} />
    </>
  );
}

function OwnAgent({ name, found, isRoot }: Readonly<{ name: string; found: Found; isRoot: boolean }>) {
  return (
    <section class="card" aria-label={name}>
      <h3>
        {name} {isRoot && <small>the root agent</small>}
      </h3>
      <CardOf found={found} />
      <a href={link('chat', name, newId())}>Chat with it</a>
    </section>
  );
}

export function PeerState({ state }: Pick<AgentStatus, 'state'>) {
  const isReady = state === 'ready';
  return (
    <Mark icon={isReady ? 'completed' : 'warning'} kind={isReady ? 'completed' : 'waits'}>
      {state}
    </Mark>
  );
}

type RemoteAgentProps = Readonly<{ peer: AgentStatus; root: string; onChange: () => void }>;

function RemoteAgent({ peer, root, onChange }: RemoteAgentProps) {
  const { name, state, url, since, reason, hint, description } = peer;
  const { note, act } = useAction();
  const remove = () => act(() => owner(`agents/${encodeURIComponent(name)}`, 'DELETE').then(onChange));
  return (
    <section class="card" aria-label={name}>
      <h3>
        {name} <PeerState state={state} />
      </h3>
      <p class="text facts">
        {url} {since !== undefined && <Ago at={since} />}
      </p>
      {description !== undefined && <CardAt name={name} />}
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

function AddAgent({ onAdded }: Readonly<{ onAdded: () => void }>) {
  const { note, act } = useAction();
  const add = async (form: HTMLFormElement) => {
    const [name, url, token] = ['name', 'url', 'token'].map((field) => writtenIn(form, field).trim());
    const allowPrivate = new FormData(form).has('private') || undefined;
    await owner('agents', 'POST', { name, url, token: token || undefined, allowPrivate });
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
