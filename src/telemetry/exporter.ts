import type { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { errorText, LangoError, loadPackage } from '../core/errors.js';
import { newId } from '../core/ids.js';
import type { Logger } from '../core/logger.js';
import type { Span } from '../core/node-status.js';
import type { TaskRecord } from '../core/task.js';
import { backoffMs, pause, waitAtMost } from '../core/time.js';
import { traceIdOfTask } from '../core/trace.js';
import type { TaskStore } from '../stores/tasks.js';
import type { DueTrace, TraceStore } from '../stores/traces.js';
import { endedSpans } from './spans.js';

export interface TraceExporterOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The names of this node: `service.name`, `service.version` and `service.instance.id`. */
  readonly service: { readonly name: string; readonly version: string; readonly instance: string };
  /** Whether spans contain the texts of people, models and tools. */
  readonly content: boolean;
  readonly traces: TraceStore;
  readonly tasks: Pick<TaskStore, 'read'>;
  readonly logger: Logger;
}

type SentSpan = Parameters<OTLPTraceExporter['export']>[0][number];
type ExportResult = Parameters<Parameters<OTLPTraceExporter['export']>[1]>[0];

const REQUEST_MS = 10_000;
const POLL_MS = 1_000;
/** The pause after a failure. It doubles with each further failure in a row. */
const RETRY_MS = 1_000;
const MAX_RETRY_MS = 60_000;
const STOP_MS = 1_000;
const READ_ATTEMPTS = 3;
const TASKS_AT_ONCE = 50;
/** Maximum spans of one request, and of the tasks that are read before it. */
const SPANS_AT_ONCE = 500;
/** The HTTP statuses with which a collector refuses spans for good. */
const REFUSAL_STATUSES: ReadonlySet<number> = new Set([400, 413]);

/**
 * Exports the spans of all tasks in the database over OTLP. Resolves with a function that stops the export. The progress is
 * stored in the database, so a crash, an outage of the collector or a pause of the export loses no span; a span that is
 * sent twice has the same id. Of the processes that share a database, one exports. Rejects with `not-supported` when the
 * package is not installed.
 */
export async function startTraceExport(options: TraceExporterOptions): Promise<() => Promise<void>> {
  const { OTLPTraceExporter: Collector } = await loadPackage(
    '@opentelemetry/exporter-trace-otlp-proto',
    () => import('@opentelemetry/exporter-trace-otlp-proto'),
  );
  const { url, headers } = options;
  const collector = new Collector({ url, headers: { ...headers }, timeoutMillis: REQUEST_MS });
  const exporter = new TraceExporter(options, collector);
  const stopping = new AbortController();
  const running = exporter.run(stopping.signal);
  return async () => {
    stopping.abort();
    await waitAtMost(STOP_MS, running, { ref: false });
    void collector.shutdown();
    await options.traces.release(exporter.name);
  };
}

class TraceExporter {
  /** The name of this process in leases. */
  readonly name = newId();
  readonly #options: TraceExporterOptions;
  readonly #collector: OTLPTraceExporter;
  readonly #resource: SentSpan['resource'];
  /** Whether the collector has accepted any span. Before that, a refusal means that the address is wrong. */
  #hasAccepted = false;
  /** The number of failed reads of each task that could not be read. */
  readonly #failedReads = new Map<string, number>();

  constructor(options: TraceExporterOptions, collector: OTLPTraceExporter) {
    this.#options = options;
    this.#collector = collector;
    const { name, version, instance } = options.service;
    const attributes = { 'service.name': name, 'service.version': version, 'service.instance.id': instance };
    // The serializer reads nothing else of a resource.
    this.#resource = { attributes } as unknown as SentSpan['resource'];
  }

  async run(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted;) {
      try {
        while (!signal.aborted && (await this.#exportSome()));
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        const retryMs = backoffMs(failures, { firstMs: RETRY_MS, longestMs: MAX_RETRY_MS });
        // Warns once per outage, which may last long.
        const log = failures === 1 ? 'warn' : 'debug';
        this.#options.logger[log]('spans could not be exported', { error: errorText(error), retryMs });
        await pause(retryMs, { signal, ref: false });
      }
      await pause(POLL_MS, { signal, ref: false });
    }
  }

  /** Exports the next tasks. False when there is nothing to export or another process exports. */
  async #exportSome(): Promise<boolean> {
    const { traces } = this.#options;
    const due = await traces.listDue(TASKS_AT_ONCE);
    if (due.length === 0 || !(await traces.claim(this.name))) return false;
    const done: DueTrace[] = [];
    const spans: SentSpan[] = [];
    for (const trace of due) {
      if (spans.length >= SPANS_AT_ONCE) break;
      if (trace.task) spans.push(...(await this.#spansOf(trace.task, trace.exported)));
      done.push(trace);
    }
    for (let from = 0; from < spans.length; from += SPANS_AT_ONCE) {
      if (!(await traces.claim(this.name))) return false;
      await this.#send(spans.slice(from, from + SPANS_AT_ONCE));
    }
    await traces.noteExported(done);
    return true;
  }

  /** Reads the spans of a task. Returns none after several failed reads, so that a damaged task does not block the others. */
  async #spansOf(task: TaskRecord, after: number): Promise<readonly SentSpan[]> {
    const { tasks, content, logger } = this.#options;
    try {
      const spans = await endedSpans(tasks, task, { after, content });
      return spans.map((span) => this.#toSent(span, task));
    } catch (error) {
      const failures = (this.#failedReads.get(task.id) ?? 0) + 1;
      this.#failedReads.set(task.id, failures);
      if (failures < READ_ATTEMPTS) throw error;
      this.#failedReads.delete(task.id);
      logger.warn('the spans of a task are not exported', { task: task.id, error: errorText(error) });
      return [];
    }
  }

  #toSent({ id, parent, kind, name, startedAt, endedAt, attributes }: Span, task: TaskRecord): SentSpan {
    const { trace } = task.grant;
    const traceFlags = trace ? Number.parseInt(trace.traceparent.slice(-2), 16) : SAMPLED;
    const traceId = traceIdOfTask(task);
    const error = attributes['error.type'];
    const end = endedAt ?? startedAt;
    return {
      ...{ name, kind: KINDS[kind], resource: this.#resource, instrumentationScope: { name: 'lango' } },
      spanContext: () => ({ traceId, spanId: id, traceFlags }),
      ...(parent !== undefined && { parentSpanContext: { traceId, spanId: parent, traceFlags } }),
      ...{ startTime: toHrTime(startedAt), endTime: toHrTime(end), duration: toHrTime(end - startedAt) },
      status: error === undefined ? { code: UNSET } : { code: FAILED, message: String(error) },
      attributes,
      ...{ ended: true, links: [], events: [] },
      ...{ droppedAttributesCount: 0, droppedEventsCount: 0, droppedLinksCount: 0 },
    };
  }

  /** Leaves out, with a warning, each span that the collector refuses. Rejects when the collector has accepted nothing yet. */
  async #send(spans: readonly SentSpan[]): Promise<void> {
    const refused = await this.#trySend(spans);
    if (refused.length === 0) return;
    const [{ span, error }] = refused as [Refused];
    if (!this.#hasAccepted) throw error;
    const { traceId, spanId } = span.spanContext();
    const fields = { spans: refused.length, traceId, spanId, error: errorText(error) };
    this.#options.logger.warn('the collector refused spans', fields);
  }

  async #trySend(spans: readonly SentSpan[]): Promise<readonly Refused[]> {
    try {
      await this.#request(spans);
      this.#hasAccepted = true;
      return [];
    } catch (error) {
      if (!REFUSAL_STATUSES.has((error as { readonly code?: number }).code ?? 0)) throw error;
      if (spans.length === 1) return [{ span: spans[0]!, error }];
      const half = Math.ceil(spans.length / 2);
      return [...(await this.#trySend(spans.slice(0, half))), ...(await this.#trySend(spans.slice(half)))];
    }
  }

  async #request(spans: readonly SentSpan[]): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<ExportResult>();
    this.#collector.export([...spans], resolve);
    const { code, error } = await promise;
    if (Number(code) === SUCCESS) return;
    const message = 'The collector did not accept the spans.';
    throw error ?? new LangoError('unavailable', message, { retryable: true });
  }
}

type Refused = Readonly<{ span: SentSpan; error: unknown }>;

/** Values of enumerations in OpenTelemetry's API, copied to avoid loading it. */
const KINDS = { internal: 0, server: 1, client: 2 } as const;
const SAMPLED = 1;
const UNSET = 0;
const FAILED = 2;
const SUCCESS = 0;

function toHrTime(ms: number): [seconds: number, nanoseconds: number] {
  return [Math.trunc(ms / 1_000), (ms % 1_000) * 1_000_000];
}
