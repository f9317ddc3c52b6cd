import type { Peer } from '../core/agent.js';
import { oncePerList } from '../core/bounded-cache.js';
import { refuse, turnStep, withArguments } from './agent-function.js';
import type { AgentFunction, Call, CallOutcome } from './agent-function.js';
import { PeerContexts, runDelegation, type DelegationOptions } from './delegation-run.js';
import { TRANSFER_NAME, transferReader, transferSpec, type Transfer } from './transfer.js';

/** The share of a task's time that its delegations may take. The agent needs the rest to answer. */
const DELEGATION_TIME_SHARE = 0.9;

/** The delegations of one run. A resumed run repeats the recorded ones, which restores rounds and rejections. */
export class Delegations {
  readonly #options: DelegationOptions;
  readonly #until: number;
  /** The number of delegations by round; a round is a turn with at least one delegation. */
  readonly #rounds = new Map<string, number>();
  /** Agents that rejected a request of this task (requirement D4). */
  readonly #rejected = new Set<string>();
  readonly #contexts = new PeerContexts();
  readonly #specFor = oncePerList(transferSpec);

  constructor(options: DelegationOptions) {
    this.#options = options;
    this.#until = performance.now() + 1_000 * options.limits.seconds * DELEGATION_TIME_SHARE;
  }

  /** Whether the run has used up its rounds of delegation. */
  get exhausted(): boolean {
    return this.#rounds.size >= this.#options.limits.delegationRounds;
  }

  /** The delegation function with the agents that may be asked now as its enum. */
  transferFunction(): AgentFunction {
    return {
      name: TRANSFER_NAME,
      spec: this.exhausted ? undefined : this.#specFor(this.#agents()),
      first: false,
      call: (call) => withArguments(transferReader, call, (made, input) => this.#transfer(made, input)),
    };
  }

  async #transfer(call: Call, { agent_name: agent, request, final = false }: Transfer): Promise<CallOutcome> {
    const round = turnStep(call.step);
    const begun = call.run.recorded(call.step)?.intent.type === 'delegation-start';
    const obstacle = begun ? undefined : this.#obstacle(call, agent, round);
    if (obstacle !== undefined) return refuse(call, obstacle);

    this.#rounds.set(round, (this.#rounds.get(round) ?? 0) + 1);
    const outcome = await runDelegation({
      ...this.#options,
      ...{ call, agent, request, final: final && call.alone },
      contexts: this.#contexts,
      roundSize: () => this.#rounds.get(round) ?? 1,
      until: this.#until,
    });
    if (outcome.state === 'rejected') this.#rejected.add(agent);
    return outcome.outcome;
  }

  /** Returns the reason for the model why this delegation may not begin; undefined when it may. */
  #obstacle(call: Call, agent: string, round: string): string | undefined {
    const { limits } = this.#options;
    const { grant } = call.run;
    const names = this.#agents().map(({ name }) => name);
    const valid = `Valid names: ${names.join(', ') || 'none; answer from what you have'}.`;
    if (this.#rejected.has(agent))
      return `${agent} rejected a request of this task and is not asked again. ${valid}`;
    if (!names.includes(agent)) return `There is no agent named "${agent}". ${valid}`;
    const inRound = this.#rounds.get(round) ?? 0;
    if (inRound === 0 && this.exhausted) {
      return `The ${limits.delegationRounds} rounds of delegation of this task are used up (agent.maxDelegationRounds). Answer from what you have.`;
    }
    if (inRound >= limits.fanOut) {
      return `At most ${limits.fanOut} delegations may run at once (agent.limits.fanOut). Ask again in the next turn.`;
    }
    if (grant.depth <= 0 || grant.chain.length >= limits.depth) {
      return 'This task may not delegate any deeper (agent.limits.depth). Answer from what you have.';
    }
    return undefined;
  }

  #agents(): readonly Peer[] {
    return this.#options.peers.list().filter(({ name }) => !this.#rejected.has(name));
  }
}
