import { LangoError, errorText } from '../core/errors.js';
import { KeyedMutex } from '../core/keyed-mutex.js';
import type { Logger } from '../core/logger.js';
import type { AgentState } from '../core/node-status.js';
import { AddedAgents, type AddedAgent } from './added-agents.js';
import type { ReadConfig, Reload } from './reload.js';

interface RegistryOptions {
  readonly home: string;
  /** The agents that were added before the start. */
  readonly added?: readonly AddedAgent[] | undefined;
  /** The directory that reloads replace the agents of. */
  readonly peers: { states(): readonly AgentState[]; refresh(): Promise<void> };
  readonly logger: Logger;
  /** Undefined when a program gave the settings: there is no configuration to add to. */
  readonly read?: ReadConfig;
  readonly reload: Reload;
}

/** The remote agents that operators add to the running node and remove. Replicas with the same data folder have one list. */
export class PeerRegistry {
  readonly #options: RegistryOptions;
  readonly #kept: AddedAgents;
  readonly #mutex = new KeyedMutex();
  /** The list that was last applied, as JSON. */
  #applied: string;

  constructor(options: RegistryOptions) {
    this.#options = options;
    this.#kept = new AddedAgents(options.home);
    this.#applied = JSON.stringify(options.added ?? []);
  }

  /** Every `seconds`, applies changes of other replicas and loads all cards again. Returns a function that stops that. */
  keepFresh(seconds: number): () => void {
    const refreshing = setInterval(() => {
      void this.#follow().then(() => this.#options.peers.refresh());
    }, 1_000 * seconds);
    return () => clearInterval(refreshing);
  }

  /** Resolves with the state of the agent once its card was asked for. Rejects with `conflict` or `invalid-input`. */
  add(agent: AddedAgent): Promise<AgentState> {
    return this.#mutex.run('', async () => {
      const { name } = agent;
      const { peers } = this.#options;
      if (peers.states().some((peer) => peer.name === name)) {
        const hint = 'Choose another name, or remove that one first.';
        throw new LangoError('conflict', `There is an agent ${name} already.`, { hint });
      }
      await this.#apply([...(await this.#kept.read()), agent]);
      return peers.states().find((peer) => peer.name === name)!;
    });
  }

  /** Rejects with `not-found` for an agent that was not added, and with `conflict` for one of the configuration. */
  remove(name: string): Promise<void> {
    return this.#mutex.run('', async () => {
      const kept = await this.#kept.read();
      const rest = kept.filter((agent) => agent.name !== name);
      if (rest.length < kept.length) return this.#apply(rest);
      if (!this.#options.peers.states().some((peer) => peer.name === name)) {
        throw new LangoError('not-found', `There is no agent ${name}.`, { hint: 'See: lango agents' });
      }
      const hint = 'Remove it from the configuration and send the server SIGHUP, or restart it.';
      throw new LangoError('conflict', `The agent ${name} was not added by "lango agents add".`, { hint });
    });
  }

  /** The list is checked as a part of the whole configuration before it is kept. */
  async #apply(agents: readonly AddedAgent[]): Promise<void> {
    const { read, reload } = this.#options;
    if (!read) {
      const hint = 'Name the agent in its settings, or in a configuration file of "lango serve".';
      throw new LangoError('not-supported', 'A program started this server and gave its settings.', { hint });
    }
    const { config } = await read(agents).catch((cause: unknown) => {
      throw new LangoError('invalid-input', `The agent cannot be used: ${errorText(cause)}`, { cause });
    });
    // Added agents switch `a2a.enabled` on: without the last of them it may be off again.
    if (agents.length > 0 && !config.a2a.enabled) {
      const hint = 'Set a2a.enabled to true in the configuration.';
      throw new LangoError('invalid-input', 'This server uses no remote agents.', { hint });
    }
    await this.#kept.replace(agents);
    // Read again: the configuration file may have changed meanwhile, and a reload of it may be first.
    await reload(read);
    this.#applied = JSON.stringify(agents);
  }

  /** Never rejects: logs why a list cannot be applied, and tries it again the next time. */
  #follow(): Promise<void> {
    const { read, reload, logger } = this.#options;
    return this.#mutex.run('', async () => {
      try {
        const agents = JSON.stringify(await this.#kept.read());
        if (!read || agents === this.#applied) return;
        await reload(read);
        this.#applied = agents;
      } catch (error) {
        logger.error('the added agents of another replica cannot be used', { error: errorText(error) });
      }
    });
  }
}
