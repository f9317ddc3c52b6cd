import { signal } from '@preact/signals';
import { render } from 'preact';
import { useEffect } from 'preact/hooks';
import { AgentsView } from './agents.js';
import { AWAY, beginSession, call, isOnline, isSignedIn, readJson, viewed } from './api.js';
import { BillView } from './bill.js';
import { ChatView } from './chat.js';
import { DataView } from './data.js';
import { InboxView, waitingCount, Watch } from './inbox.js';
import { Icon, type IconName } from './icons.js';
import { OwnerChoice, Viewing } from './owners.js';
import { InspectorView } from './inspector.js';
import { loadNode, loadNodes } from './node.js';
import { MapView } from './map.js';
import { OverviewView } from './overview.js';
import { Button, Field, Form, link, names, Note, place, useLoaded, writtenIn } from './page.js';
import { TaskView } from './task.js';
import { TasksView } from './tasks.js';

/** Loads its code when a person looks at it. */
function Evaluations() {
  const { value, fault } = useLoaded(() => import('./evaluations.js'), []);
  return value ? <value.EvaluationsView /> : <Note>{fault || 'Loading the page…'}</Note>;
}

const VIEWS = {
  overview: { title: 'Overview', page: OverviewView, icon: 'overview' },
  tasks: { title: 'Tasks', page: TasksView, icon: 'tasks' },
  approvals: { title: 'Approvals', page: InboxView, icon: 'approvals' },
  chat: { title: 'Chat', page: ChatView, icon: 'chat' },
  agents: { title: 'Agents', page: AgentsView, icon: 'agents' },
  map: { title: 'Map', page: MapView, icon: 'map' },
  evaluations: { title: 'Evaluations', page: Evaluations, icon: 'evaluations' },
  inspector: { title: 'Inspector', page: InspectorView, icon: 'inspector' },
  bill: { title: 'Bill', page: BillView, icon: 'bill' },
  data: { title: 'Kept data', page: DataView, icon: 'data' },
} as const satisfies Readonly<Record<string, { title: string; page: () => unknown; icon: IconName }>>;

const HOW_TO_SIGN_IN =
  'Run "npx lango console" where the server runs, or give its token. The page then goes on where it was.';
/** Why the last sign-in failed. */
const fault = signal('');

function SignIn() {
  const oidc = useLoaded(() => readJson<{ enabled: boolean }>('oidc'), []);
  return (
    <Form class="card" onSend={(form) => signIn({ Authorization: `Bearer ${writtenIn(form, 'token')}` })}>
      <h2>Sign in</h2>
      <p role="status">{fault.value || HOW_TO_SIGN_IN}</p>
      <Field label="Token" name="token" type="password" autocomplete="current-password" required />
      <button class="primary">Sign in</button>
      {oidc.value?.enabled && (
        <Button onClick={() => void signInAtIssuer()}>Sign in at the issuer of your organization</Button>
      )}
    </Form>
  );
}

const viewOf = (name: string) =>
  Object.hasOwn(VIEWS, name) ? VIEWS[name as keyof typeof VIEWS] : VIEWS.overview;

function View() {
  const [view = 'overview', agent, id] = names();
  if (view === 'tasks' && agent !== undefined && id !== undefined)
    return <TaskView key={`${agent} ${id}`} agent={agent} id={id} />;
  const { page: Page } = viewOf(view);
  return <Page />;
}

function Console() {
  const isKnown = isSignedIn.value !== false;
  const [current = 'overview'] = names();
  const { title } = viewOf(current);
  const waiting = waitingCount.value;
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ''}${title} – Lango`;
  }, [title, waiting]);
  useEffect(() => {
    if (isKnown) Promise.all([loadNode(), loadNodes()]).catch(() => undefined);
  }, [isKnown]);
  const signOut = () =>
    void call('session', { method: 'DELETE' }).then(
      () => {
        isSignedIn.value = false;
        fault.value = '';
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
            {Object.entries(VIEWS).map(([name, { title: words, icon }]) => (
              <a key={name} href={link(name)} aria-current={name === current ? 'page' : undefined}>
                <Icon name={icon} />
                {words} {name === 'approvals' && waiting > 0 && <b class="count">{waiting}</b>}
              </a>
            ))}
          </nav>
        )}
        {isKnown && <OwnerChoice />}
        {isKnown && (
          <Button class="quiet" onClick={signOut}>
            <Icon name="out" /> Sign out
          </Button>
        )}
      </header>
      {!isOnline.value && (
        <p class="offline" role="alert">
          {AWAY}
        </p>
      )}
      {isKnown && current !== 'approvals' && <Watch />}
      <Viewing />
      <main>{isKnown ? <View key={`${current} ${JSON.stringify(viewed.value)}`} /> : <SignIn />}</main>
    </>
  );
}

/** Trades a token or the code of a sign-in link for a session. */
async function signIn(headers: Readonly<Record<string, string>>, hint = ''): Promise<void> {
  try {
    await call('session', { method: 'POST', headers });
    fault.value = '';
    beginSession();
  } catch (error) {
    fault.value = `${(error as Error).message} ${hint}`;
  }
}

async function signInAtIssuer(): Promise<void> {
  try {
    location.href = (await readJson<{ url: string }>('oidc/begin', { method: 'POST' })).url;
  } catch (error) {
    fault.value = (error as Error).message;
  }
}

/** Follows a sign-in link, also when it is put into the address of an open page. The code leaves the address at once. */
async function followLink(): Promise<void> {
  const [first, code] = names();
  if (first !== 'link' || code === undefined) return;
  history.replaceState(null, '', '#/');
  place.value = '#/';
  const hint = 'A link works once, for a minute: "npx lango console" makes a new one.';
  await signIn({ 'Lango-Console-Link': code }, hint);
}

addEventListener('hashchange', () => void followLink());
await followLink();
render(<Console />, document.getElementById('console')!);
