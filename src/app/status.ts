import type { RefreshingDirectory } from '../a2a/client/directory.js';
import type { Agent } from '../core/agent.js';
import type { ModelProvider } from '../core/model.js';
import type { PushStore } from '../core/push.js';
import type { ToolFamily } from '../core/tool.js';
import { sendJson } from '../http/errors.js';
import type { Mount } from '../http/web-app.js';

export interface StatusParts {
  /** The agent that answers at the root of the host. */
  readonly root: string;
  readonly model: ModelProvider;
  readonly agents: ReadonlyMap<string, Agent>;
  readonly peers: RefreshingDirectory;
  readonly families: readonly ToolFamily[];
  /** Undefined when no push notifications are sent. */
  readonly pushes: PushStore | undefined;
}

/** What this node runs and knows: for `lango agents` and `lango doctor`. */
export function statusRoutes(path: string, parts: StatusParts): Mount {
  const { root, model, agents, peers, families, pushes } = parts;
  const read = async () => ({
    root,
    model: model.id,
    published: [...agents.keys()],
    peers: peers.states(),
    families: families.map(({ name, state, note, hint }) => ({ name, state, note, hint })),
    ...(pushes ? { push: await pushes.counts() } : {}),
  });
  return {
    paths: [path],
    access: 'caller',
    addTo(router) {
      router.get(path, async (_request, response) => sendJson(response, 200, await read()));
    },
  };
}
