import { useMemo, useState } from 'preact/hooks';
import { duration } from '../../core/duration.js';
import type { Span } from '../../core/node-status.js';
import { Icon, type IconName } from './icons.js';
import { farNodeOf } from './node.js';
import { Button, link, Note, Rows } from './page.js';
import { Json, Text, visible } from './parts.js';
import { spansAt, spentWords, textIn, useTrace, type Below } from './trace.js';
import { exchangeOf } from './exchange.js';
import type { StreamEvent, Task } from './wire.js';

const ROW_PIXELS = 30;
const TICKS = [0, 0.25, 0.5, 0.75, 1];
const ZOOM = 1.6;
/** The most that the axis is stretched. */
const NARROWEST = 1 / 10_000;
const PAN = 0.2;

type Bar = Readonly<{ span: Span; depth: number; isCritical: boolean }>;

/** The part of the time axis in sight, as shares of the whole. */
type Sight = Readonly<{ from: number; to: number }>;
const WHOLE: Sight = { from: 0, to: 1 };

interface WaterfallProps {
  readonly task: Task;
  readonly events: readonly StreamEvent[];
  /** The time, in ms, at which the task is shown; undefined: as it is now. */
  readonly at: number | undefined;
  readonly onMove: (event: number) => void;
}

/** The steps of a task and of the tasks below it, on one time axis. */
export function Waterfall({ task, events, at, onMove }: WaterfallProps) {
  const { value, fault } = useTrace(task);
  const [sight, setSight] = useState(WHOLE);
  const [chosen, setChosen] = useState<string>();
  const spans = useMemo(() => spansAt(value, at), [value, at]);
  const below: Below = useMemo(() => Map.groupBy(spans, ({ parent }) => parent), [spans]);
  const bars = useMemo(() => barsOf(spans, below), [spans, below]);
  const [root] = spans;
  if (!value || !root) return <Note>{fault || 'Loading the waterfall…'}</Note>;
  const end = at ?? Math.max(Date.now() * Number(root.endedAt === undefined), ...spans.map(endOf));
  const scale: Scale = { start: root.startedAt, length: Math.max(end - root.startedAt, 1), end, sight };
  const span = spans.find(({ id }) => id === chosen);
  const zoom = (factor: number, middle = 0.5) => setSight(zoomed(sight, factor, middle));
  const onKeyDown = (event: KeyboardEvent) => {
    const act = keys(sight)[event.key];
    if (!act) return;
    event.preventDefault();
    setSight(act);
  };
  const onWheel = (event: WheelEvent) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const { left, width } = (event.currentTarget as HTMLElement).getBoundingClientRect();
    zoom(event.deltaY < 0 ? ZOOM : 1 / ZOOM, (event.clientX - left) / width);
  };
  return (
    <div class="waterfall" onKeyDown={onKeyDown} onWheel={onWheel}>
      <p class="buttons">
        <Button onClick={() => zoom(ZOOM)} aria-label="Zoom in">
          +
        </Button>
        <Button onClick={() => zoom(1 / ZOOM)} aria-label="Zoom out">
          −
        </Button>
        <Button onClick={() => setSight(WHOLE)}>Fit</Button>
        <small>
          Keys: + − 0 ← →. <Icon name="agents" /> agent, <Icon name="model" /> model, <Icon name="tool" />{' '}
          tool, <Icon name="waits" /> wait; framed: the critical path.
        </small>
      </p>
      <Axis scale={scale} />
      <Rows
        count={bars.length}
        height={ROW_PIXELS}
        label="Waterfall"
        row={(index) =>
          bars[index] && (
            <BarRow
              bar={bars[index]}
              scale={scale}
              below={below}
              isChosen={bars[index].span.id === chosen}
              onChoose={setChosen}
            />
          )
        }
      />
      {value.isCut && <p>There are too many steps to show them all.</p>}
      {span && <Chosen span={span} below={below} {...{ spans, events, onMove }} />}
    </div>
  );
}

const endOf = ({ startedAt, endedAt }: Span) => endedAt ?? startedAt;

/** All spans, each below its parent, in the order in which they began. */
function barsOf(spans: readonly Span[], below: Below): readonly Bar[] {
  const [root] = spans;
  if (!root) return [];
  const critical = criticalPath(root, below);
  const bars: Bar[] = [];
  const open: { span: Span; depth: number }[] = [{ span: root, depth: 0 }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { span, depth } = next;
    bars.push({ span, depth, isCritical: critical.has(span.id) });
    const children = (below.get(span.id) ?? []).toSorted((a, b) => b.startedAt - a.startedAt);
    open.push(...children.map((child) => ({ span: child, depth: depth + 1 })));
  }
  return bars;
}

/** The spans without whose time the whole would have been shorter: back from its end, the one that ended last. */
function criticalPath(root: Span, below: Below): ReadonlySet<string> {
  const path = new Set<string>();
  const open = [root];
  for (let span = open.pop(); span; span = open.pop()) {
    path.add(span.id);
    let before = Infinity;
    const children = (below.get(span.id) ?? []).toSorted(
      (a, b) => (b.endedAt ?? Infinity) - (a.endedAt ?? Infinity),
    );
    for (const child of children) {
      if ((child.endedAt ?? before) > before) continue;
      open.push(child);
      before = child.startedAt;
    }
  }
  return path;
}

type Scale = Readonly<{ start: number; length: number; end: number; sight: Sight }>;

/** The place of a time in sight, as a share of the width. */
const placeOf = ({ start, length, sight: { from, to } }: Scale, time: number) =>
  ((time - start) / length - from) / (to - from);

function zoomed({ from, to }: Sight, factor: number, middle: number): Sight {
  const width = Math.min(1, Math.max(NARROWEST, (to - from) / factor));
  return moved({ from: 0, to: width }, from + (to - from) * middle - width * middle);
}

/** The same width from another place, within the whole. */
function moved({ from, to }: Sight, place: number): Sight {
  const width = to - from;
  const begin = Math.min(Math.max(0, place), 1 - width);
  return { from: begin, to: begin + width };
}

function keys(sight: Sight): Readonly<Record<string, Sight>> {
  const step = (sight.to - sight.from) * PAN;
  return {
    '+': zoomed(sight, ZOOM, 0.5),
    '-': zoomed(sight, 1 / ZOOM, 0.5),
    '0': WHOLE,
    ArrowLeft: moved(sight, sight.from - step),
    ArrowRight: moved(sight, sight.from + step),
  };
}

function Axis({ scale: { length, sight } }: Readonly<{ scale: Scale }>) {
  return (
    <p class="axis" aria-hidden="true">
      {TICKS.map((tick) => (
        <span key={tick} style={{ left: `${100 * tick}%` }}>
          {duration(length * (sight.from + (sight.to - sight.from) * tick))}
        </span>
      ))}
    </p>
  );
}

interface BarRowProps {
  readonly bar: Bar;
  readonly scale: Scale;
  readonly below: Below;
  readonly isChosen: boolean;
  readonly onChoose: (id: string) => void;
}

function BarRow({ bar: { span, depth, isCritical }, scale, below, isChosen, onChoose }: BarRowProps) {
  const { startedAt, endedAt = scale.end } = span;
  const [begin, end] = [placeOf(scale, startedAt), placeOf(scale, endedAt)];
  const [left, right] = [Math.max(0, begin), Math.min(1, end)];
  const { kind, icon, words } = looksOf(span);
  const first = Number(span.attributes['lango.time_to_first_text'] ?? 0) * 1_000;
  const failed = textIn(span, 'error.type') === undefined ? '' : 'failed';
  const time = duration(endedAt - startedAt) + (span.endedAt === undefined ? '…' : '');
  const brief = [failed && textIn(span, 'error.type'), time].filter(Boolean).join(' · ');
  const more = ['', ...spentFacts(span, below)].join(' · ');
  const isWide = isWideBar(left, right);
  return (
    <Button
      class="row bar-row"
      aria-pressed={isChosen}
      onClick={() => onChoose(span.id)}
      title={`${words}: ${brief}${more}`}
    >
      <span class="title" style={{ paddingLeft: `${Math.min(depth, 12) * 0.8}rem` }}>
        <Icon name={failed ? 'failed' : icon} /> {visible(words)}
      </span>
      <span class="track">
        {right > left && (
          <span
            class={`bar ${kind} ${failed} ${isCritical ? 'critical' : ''}`}
            style={{ left: `${100 * left}%`, width: `${100 * (right - left)}%` }}
          >
            {first > 0 && end > begin && (
              <i style={{ left: `${100 * Math.min(1, first / Math.max(endedAt - startedAt, 1))}%` }} />
            )}
          </span>
        )}
        <small class={isWide ? 'inside' : ''} style={labelPlace(left, right)}>
          {brief}
          <span class="spare">{more}</span>
        </small>
      </span>
    </Button>
  );
}

const isWideBar = (left: number, right: number) => left < 0.3 && right > 0.6;

/** The label stands behind the bar, before it where there is no room, or on it. */
function labelPlace(left: number, right: number) {
  if (isWideBar(left, right)) return { left: `${100 * left}%` };
  return right > 0.6 ? { right: `${100 * (1 - left)}%` } : { left: `${100 * Math.max(right, 0)}%` };
}

const spentFacts = (span: Span, below: Below) =>
  typeof span.attributes['gen_ai.usage.input_tokens'] === 'number' ? spentWords(span, below) : [];

function looksOf(span: Span): Readonly<{ kind: string; icon: IconName; words: string }> {
  const { name } = span;
  const [operation = '', ...rest] = name.split(' ');
  const words = rest.join(' ');
  switch (operation) {
    case 'chat':
      return { kind: 'model', icon: 'model', words: words || 'model' };
    case 'execute_tool':
      return { kind: 'tool', icon: 'tool', words };
    case 'wait_for_person':
      return { kind: 'wait', icon: 'waits', words: 'waits for you' };
    case 'wait_for_retry':
      return { kind: 'wait', icon: 'again', words: 'waits to ask the model again' };
    default: {
      const far = span.kind === 'client' ? farNodeOf(words) : undefined;
      if (far === undefined) return { kind: 'agent', icon: 'agents', words };
      return { kind: 'agent', icon: 'remote', words: `${words} on ${far}` };
    }
  }
}

/** Whether a step is on another node. */
function isElsewhere(span: Span, spans: readonly Span[]): boolean {
  const above = spans.find(({ id }) => id === span.parent);
  const isMarked = Object.keys(span.attributes).some((name) => name.startsWith('lango.node.'));
  return isMarked || (above !== undefined && isElsewhere(above, spans));
}

/** The address of the request of a model call; undefined for other steps, and on other nodes, which show their own. */
function requestLink(span: Span, parent: Span, spans: readonly Span[]): string | undefined {
  if (!span.name.startsWith('chat') || isElsewhere(parent, spans)) return undefined;
  const [agent, task] = [textIn(parent, 'gen_ai.agent.name'), textIn(parent, 'lango.task')];
  const turns = spans.filter(
    (one) =>
      one.parent === parent.id && one.name.startsWith('chat') && textIn(one, 'error.type') !== 'interrupted',
  );
  const turn = turns.indexOf(span) + 1;
  if (agent === undefined || task === undefined || turn === 0) return undefined;
  return `${link('tasks', agent, task, 'requests')}?turn=${turn}`;
}

interface ChosenProps {
  readonly span: Span;
  readonly spans: readonly Span[];
  readonly below: Below;
  readonly events: readonly StreamEvent[];
  readonly onMove: (event: number) => void;
}

/** A step with its input and output, as far as the events of this task show them. */
function Chosen({ span, spans, below, events, onMove }: ChosenProps) {
  const parent = spans.find(({ id }) => id === span.parent);
  const agent = parent && textIn(parent, 'gen_ai.agent.name');
  const { words } = looksOf(span);
  const exchange = useMemo(() => exchangeOf(span, agent, events), [span, agent, events.length]);
  const { input, output, event } = exchange;
  const request = parent && requestLink(span, parent, spans);
  const first = span.attributes['lango.time_to_first_text'];
  const facts = [
    agent && `of ${agent}`,
    new Date(span.startedAt).toLocaleTimeString(),
    span.endedAt === undefined ? 'works' : duration(span.endedAt - span.startedAt),
    typeof first === 'number' && `first text after ${duration(first * 1_000)}`,
    ...spentFacts(span, below),
  ];
  return (
    <section class="card" aria-label="The chosen step">
      <h3>{visible(words)}</h3>
      <p class="facts">{visible(facts.filter(Boolean).join(' · '))}</p>
      <p class="buttons">
        {event !== undefined && <Button onClick={() => onMove(event)}>Show the task at this event</Button>}
        {request !== undefined && <a href={request}>What the model was sent</a>}
      </p>
      {input !== undefined && <Json value={input} label="Input" />}
      {output !== undefined && output !== '' && <Text text={output} />}
      <details>
        <summary>Attributes</summary>
        <Json value={span.attributes} label="Attributes" />
      </details>
    </section>
  );
}
