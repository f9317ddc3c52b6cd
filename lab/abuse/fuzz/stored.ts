import type { StoredTask } from './ledger.js';
import { plainState } from './ledger.js';
import type { Target } from './target.js';

interface WireTask {
  readonly id: string;
  readonly status: { readonly state: string };
  readonly history?: readonly { readonly messageId: string; readonly role: string }[];
}

interface Page {
  readonly tasks: readonly WireTask[];
  readonly nextPageToken: string;
}

const PAGE = 100;
const WHOLE = 1_000_000;

/** Reads every task of every agent, with the messages sent to it. */
export async function storedTasks(target: Target): Promise<readonly StoredTask[]> {
  const all: StoredTask[] = [];
  for (const agent of target.agents) {
    let token = '';
    do {
      const query = new URLSearchParams({
        pageSize: String(PAGE),
        historyLength: String(WHOLE),
        pageToken: token,
      });
      const page = (await readJson(target, `/agents/${agent}/tasks?${query.toString()}`)) as Page;
      all.push(...page.tasks.map(toStored));
      token = page.nextPageToken;
    } while (token !== '');
  }
  return all;
}

function toStored({ id, status, history = [] }: WireTask): StoredTask {
  const sent = history.filter(({ role }) => role === 'ROLE_USER');
  return { id, state: plainState(status.state), messageIds: sent.map(({ messageId }) => messageId) };
}

/** Reads the JSON at a path of the server, as its caller. */
export async function readJson({ origin, token }: Target, path: string): Promise<unknown> {
  const response = await fetch(origin + path, { headers: { authorization: `Bearer ${token}` } });
  if (!response.ok) throw new Error(`${path} was answered with ${response.status}`);
  return response.json();
}
