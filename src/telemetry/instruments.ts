import type * as PromClient from 'prom-client';
import { mapMembers } from '../core/json.js';

/** Each counter with its help and its labels, as words. No label ever names an owner, a task or a context. */
const COUNTERS = {
  httpRequests: ['lango_http_requests_total', 'HTTP requests with a response', 'method status'],
  operations: ['lango_operations_total', 'Audited operations on all transports', 'operation agent outcome'],
  tasks: ['lango_tasks_accepted_total', 'Tasks accepted', 'agent'],
  runs: ['lango_runs_ended_total', 'Runs that ended, by the state they gave the task', 'agent state reason'],
  modelCalls: ['lango_model_calls_total', 'Model calls, by stop reason or failure', 'agent model outcome'],
  tokens: ['lango_model_tokens_total', 'Tokens of models', 'agent model type'],
  cost: ['lango_model_cost_total', 'Money that models cost', 'agent model currency'],
  toolCalls: ['lango_tool_calls_total', 'Tool calls', 'agent tool outcome'],
  delegations: ['lango_delegations_total', 'Delegations that ended, by state', 'agent peer state'],
  events: ['lango_journal_events_total', 'Journal events written by this node', 'type'],
  appendFailures: ['lango_journal_append_failures_total', 'Failed appends, by error code', 'code'],
} as const;

/** Times in seconds. */
const HISTOGRAMS = {
  httpSeconds: ['lango_http_request_seconds', 'Time until an HTTP response or stream was over', 'method'],
  queueSeconds: ['lango_task_queue_seconds', 'Time a new task waited for its first run', 'agent'],
  runSeconds: ['lango_run_seconds', 'Time of a run', 'agent'],
  firstTokenSeconds: [
    'lango_model_first_token_seconds',
    'Time until the first text of an output is stored',
    'agent',
  ],
  modelSeconds: ['lango_model_call_seconds', 'Time of a model call with its retries', 'agent'],
  toolSeconds: ['lango_tool_call_seconds', 'Time of a tool call', 'tool'],
  appendSeconds: ['lango_journal_append_seconds', 'Time until an append is durable'],
} as const;

const GAUGES = {
  openTasks: ['lango_tasks_open', 'Tasks in the database that run or wait for a run', 'agent state'],
  peers: ['lango_peer_state', '1 for the state of each peer', 'peer state'],
  webhooks: ['lango_webhooks', 'Webhooks in the database', 'state'],
  streams: ['lango_streams_open', 'Open event streams'],
} as const;

const BUCKETS_SECONDS = [0.001, 0.005, 0.02, 0.1, 0.5, 1, 2, 5, 15, 60, 300];
const MAX_LABEL_VALUES = 200;
const MAX_LABEL_LENGTH = 100;

type Labels = Readonly<Record<string, string>>;

/** The registry of this node's metrics. Each label keeps at most 200 values; later ones are counted as "other". */
export class Instruments {
  readonly #registry: PromClient.Registry;
  readonly #counters: Readonly<Record<string, PromClient.Counter>>;
  readonly #histograms: Readonly<Record<string, PromClient.Histogram>>;
  readonly #gauges: Readonly<Record<string, PromClient.Gauge>>;
  readonly #known = new Map<string, Set<string>>();

  constructor(prom: typeof PromClient) {
    this.#registry = new prom.Registry();
    const of = ([name, help, labels]: readonly [string, string, string?]) => {
      return { name, help: `${help}.`, labelNames: labels?.split(' ') ?? [], registers: [this.#registry] };
    };
    const buckets = BUCKETS_SECONDS;
    this.#counters = mapMembers(COUNTERS, (text) => new prom.Counter(of(text)));
    this.#gauges = mapMembers(GAUGES, (text) => new prom.Gauge(of(text)));
    this.#histograms = mapMembers(HISTOGRAMS, (text) => new prom.Histogram({ ...of(text), buckets }));
    // Process and Node.js: memory, CPU, event loop lag.
    prom.collectDefaultMetrics({ register: this.#registry });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  count(name: keyof typeof COUNTERS, labels: Labels, by = 1): void {
    this.#counters[name]!.inc(this.#bounded(labels), by);
  }

  time(name: keyof typeof HISTOGRAMS, labels: Labels, ms: number): void {
    this.#histograms[name]!.observe(this.#bounded(labels), Math.max(0, ms) / 1_000);
  }

  /** Replaces all readings of a gauge. */
  set(name: keyof typeof GAUGES, readings: readonly (readonly [Labels, number])[]): void {
    const gauge = this.#gauges[name]!;
    gauge.reset();
    for (const [labels, value] of readings) gauge.inc(this.#bounded(labels), value);
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  #bounded(labels: Labels): Record<string, string> {
    return mapMembers(labels, (value, name) => {
      const known = this.#known.get(name) ?? new Set();
      if (known.size < MAX_LABEL_VALUES && value.length <= MAX_LABEL_LENGTH) known.add(value);
      this.#known.set(name, known);
      return known.has(value) ? value : 'other';
    });
  }
}
