import type { Peer, PeerDirectory, AgentLimits } from '../core/agent.js';
import type { FunctionSpec } from '../core/model.js';
import type { AgentFunction, Call, CallOutcome } from './agent-function.js';
import { refuse, turnStep, withArguments } from './agent-function.js';
import type { Attachments } from './attachments.js';
import type { Budget } from './budget.js';
import { runDelegation } from './delegation-run.js';
import { PeerContexts } from './peer-contexts.js';
import { TRANSFER_NAME, transferReader, transferSpec, type Transfer } from './transfer.js';

export interface DelegationOptions {
  readonly peers: PeerDirectory;
  readonly limits: AgentLimits;
  /** The name of this node in chains of delegation. */
  readonly nodeId: string;
  /** Converts files that a peer does not accept. Default: files are sent as they are. */
  readonly attachments?: Attachments | undefined;
  readonly budget: Budget;
}

/** The share of a task's time that its delegations may take. The agent needs the rest to answer. */
const DELEGATION_TIME_SHARE = 0.9;

/** The delegations of one run. A resumed run repeats the recorded ones, which restores rounds and rejections. */
export class Delegations {
  readonly #options: DelegationOptions;
  readonly #maxRounds: number;
  readonly #until: number;
  /** The number of delegations by round; a round is a turn with at least one delegation. */
  readonly #rounds = new Map<string, number>();
  /** Agents that rejected a request of this task (requirement D4). */
  readonly #rejected = new Set<string>();
  readonly #contexts = new PeerContexts();
  #offered: { readonly agents: readonly Peer[]; readonly spec: FunctionSpec | undefined } | undefined;

  constructor(options: DelegationOptions) {
    this.#options = options;
    this.#maxRounds = options.limits.delegationRounds;
    this.#until = performance.now() + 1_000 * options.limits.seconds * DELEGATION_TIME_SHARE;
  }

  /** Whether the run has used up its rounds of delegation. */
  get exhausted(): boolean {
    return this.#rounds.size >= this.#maxRounds;
  }

  /** The delegation function with the agents that may be asked now as its enum. */
  transferFunction(): AgentFunction {
    return {
      name: TRANSFER_NAME,
      spec: this.exhausted ? undefined : this.#spec(),
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
    const { peers, limits, nodeId, attachments, budget } = this.#options;
    const outcome = await runDelegation({
      call,
      agent,
      request,
      final: final && call.alone,
      peers,
      limits,
      nodeId,
      attachments,
      budget,
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
      return `The ${this.#maxRounds} rounds of delegation of this task are used up (agent.maxDelegationRounds). Answer from what you have.`;
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

  #spec(): FunctionSpec | undefined {
    const agents = this.#agents();
    if (!this.#offered || !sameMembers(this.#offered.agents, agents)) {
      this.#offered = { agents, spec: transferSpec(agents) };
    }
    return this.#offered.spec;
  }
}

export function sameMembers<T>(a: readonly T[], b: readonly T[]): boolean {
  return a.length === b.length && a.every((member, index) => member === b[index]);
}
