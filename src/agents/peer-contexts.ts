import type { Run } from '../core/run.js';

/** The number of newest events of the conversation that are searched. */
const SEARCHED_EVENTS = 200;

/**
 * The ids that agents of other servers gave this conversation, in place of ours. The journal keeps them, so a later task of
 * the conversation continues there, also after a restart.
 */
export class PeerContexts {
  readonly #known = new Map<string, string>();
  #earlier: Promise<ReadonlyMap<string, string>> | undefined;

  /** Notes the id of the newest exchange with the agent; undefined when it uses ours. */
  note(agent: string, id: string | undefined): void {
    if (id !== undefined) this.#known.set(agent, id);
  }

  async of(agent: string, run: Run): Promise<string | undefined> {
    return this.#known.get(agent) ?? (await (this.#earlier ??= inEarlierTasks(run))).get(agent);
  }
}

async function inEarlierTasks(run: Run): Promise<ReadonlyMap<string, string>> {
  const events = await run.history(SEARCHED_EVENTS);
  return new Map(
    events.flatMap(({ body }) =>
      body.type === 'delegation-end' && body.peerContextId !== undefined
        ? [[body.agent, body.peerContextId] as const]
        : [],
    ),
  );
}
