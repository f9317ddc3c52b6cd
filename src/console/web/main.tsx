import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { AgentsView } from './agents.js';
import { AWAY, call, isOnline, isSignedIn, viewed } from './api.js';
import { BillView } from './bill.js';
import { ChatView } from './chat.js';
import { DataView } from './data.js';
import { InboxView } from './inbox.js';
import { OwnerChoice, Viewing } from './owners.js';
import { loadNode } from './node.js';
import { link, names, place, useLoaded } from './page.js';
import { TaskView } from './task.js';
import { TasksView } from './tasks.js';

const VIEWS = [
  { name: 'tasks', title: 'Tasks' },
  { name: 'approvals', title: 'Approvals' },
  { name: 'chat', title: 'Chat' },
  { name: 'agents', title: 'Agents' },
  { name: 'bill', title: 'Bill' },
  { name: 'data', title: 'Kept data' },
] as const;

function SignIn() {
  const [fault, setFault] = useState('');
  const [token, setToken] = useState('');
  const oidc = useLoaded(
    async () => ((await (await call('oidc')).json()) as { readonly enabled: boolean }).enabled,
    [],
  );
  const send = async () => {
    try {
      // The server answers a wrong token with a sentence of its own.
      await call('session', { method: 'POST', headers: { Authorization: `Bearer ${token}` } });
      isSignedIn.value = true;
    } catch (error) {
      setFault((error as Error).message);
    }
  };
  return (
    <form
      class="card"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <h2>Sign in</h2>
      <p role="status">
        {fault || 'Sign in with the token of the server. The page then goes on where it was.'}
      </p>
      <label>
        Token{' '}
        <input
          type="password"
          autocomplete="current-password"
          required
          value={token}
          onInput={({ currentTarget }) => setToken(currentTarget.value)}
        />
      </label>
      <button class="primary">Sign in</button>
      {oidc.value && <a href="oidc/begin">Sign in at the issuer of your organization</a>}
    </form>
  );
}

function View() {
  const [view, agent, id] = names();
  if (view === 'tasks' && agent !== undefined && id !== undefined)
    return <TaskView key={`${agent} ${id}`} agent={agent} id={id} />;
  switch (view) {
    case 'chat':
      return <ChatView />;
    case 'approvals':
      return <InboxView />;
    case 'agents':
      return <AgentsView />;
    case 'bill':
      return <BillView />;
    case 'data':
      return <DataView />;
    default:
      return <TasksView />;
  }
}

function Console() {
  const isKnown = isSignedIn.value !== false;
  const [current = 'tasks'] = names();
  const title = VIEWS.find(({ name }) => name === current)?.title ?? 'Tasks';
  useEffect(() => {
    document.title = `${title} – Lango`;
  }, [title]);
  useEffect(() => {
    if (isKnown) loadNode().catch(() => undefined);
  }, [isKnown]);
  const signOut = () =>
    void call('session', { method: 'DELETE' }).then(
      () => {
        isSignedIn.value = false;
        viewed.value = undefined;
      },
      () => undefined,
    );
  return (
    <>
      <header>
        <h1>
          <a href="#/">Lango</a>
        </h1>
        {isKnown && (
          <nav aria-label="Views">
            {VIEWS.map(({ name, title: words }) => (
              <a key={name} href={link(name)} aria-current={name === current ? 'page' : undefined}>
                {words}
              </a>
            ))}
          </nav>
        )}
        {isKnown && <OwnerChoice />}
        {isKnown && (
          <button type="button" onClick={signOut}>
            Sign out
          </button>
        )}
      </header>
      {!isOnline.value && (
        <p class="offline" role="alert">
          {AWAY}
        </p>
      )}
      <Viewing />
      <main>{isKnown ? <View key={`${current} ${JSON.stringify(viewed.value)}`} /> : <SignIn />}</main>
    </>
  );
}

/** Trades the code of a sign-in link for a session. The code leaves the address at once. */
async function signInByLink(code: string): Promise<void> {
  history.replaceState(null, '', '#/');
  place.value = '#/';
  const headers = { 'Lango-Console-Link': code };
  await call('session', { method: 'POST', headers }).catch(() => undefined);
}

const [first, code] = names();
if (first === 'link' && code !== undefined) await signInByLink(code);
render(<Console />, document.getElementById('console')!);
