import { signal } from '@preact/signals';
import { DrawnIcon, type IconName } from './icons.js';
import { visible } from './parts.js';

export interface GraphNode {
  readonly id: string;
  readonly name: string;
  readonly note?: string;
  /** The sign of its kind. */
  readonly icon?: IconName;
  /** Its state, told apart without its color too. */
  readonly mark?: IconName | undefined;
  readonly kind?: string;
  readonly href?: string | undefined;
  readonly onChoose?: () => void;
}

export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly words: string;
  /** The share of the calls that goes over it, from 0 to 1. */
  readonly weight?: number;
  readonly kind?: string;
}

type GraphProps = Readonly<{ label: string; nodes: readonly GraphNode[]; edges: readonly GraphEdge[] }>;

const NODE_WIDTH = 222;
const NODE_HEIGHT = 52;
const EDGE_ROOM = 18;
const COLUMN_GAP = 165;
const ROW_GAP = 18;
const MARGIN = 8;
const NARROW_HEIGHT = 34;
const INDENT = 22;
const DEEPEST = 6;
const MOST_WIDTH = 480;
const NARROW_CHARACTERS = 46;
/** The most that a character of a name, and one of a note, is wide. */
const NAME_PIXELS = 8.6;
const NOTE_PIXELS = 6.6;
const NAME_CHARACTERS = 20;
const WORDS_CHARACTERS = 26;
const ICON = 15;
const ICON_ROOM = 21;
const MARK = 13;
const MARK_ROOM = 17;
/** The distances of words from the end of their line. */
const ABOVE = 7;
const BELOW = 15;

const query = matchMedia('(max-width: 40rem)');
const narrow = signal(query.matches);
query.addEventListener('change', () => (narrow.value = query.matches));

type Placed = GraphNode & Readonly<{ column: number; x: number; y: number; width: number; height: number }>;

/** Nodes in columns, those asked to the right of those that ask. Everything in it is text, never markup. */
export function Graph({ label, nodes, edges }: GraphProps) {
  const isNarrow = narrow.value;
  const placed = isNarrow ? placeBelow(nodes, edges) : placeAll(nodes, edges);
  const all = [...placed.values()];
  const width = Math.max(...all.map((one) => one.x + one.width)) + MARGIN;
  const height = Math.max(...all.map((one) => one.y + one.height)) + MARGIN;
  const into = Map.groupBy(edges, ({ to }) => to);
  return (
    <div class="graph" tabIndex={0} role="region" aria-label={label}>
      <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`}>
        <defs>
          <marker
            id="arrow"
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerUnits="userSpaceOnUse"
            markerWidth="10"
            markerHeight="10"
            orient="auto"
          >
            <path d="M0 0 8 4 0 8z" />
          </marker>
        </defs>
        {all.map((one) => (
          <Node key={one.id} node={one} isNarrow={isNarrow} />
        ))}
        {/* The words come last, so that no line lies over them. */}
        {[Line, Words].flatMap((Part, layer) =>
          edges.map((edge) => {
            const [from, to] = [placed.get(edge.from), placed.get(edge.to)];
            if (!from || !to) return null;
            const beside = into.get(edge.to)!;
            return (
              <Part
                key={`${layer} ${edge.from} ${edge.to}`}
                {...{ edge, from, to, isNarrow }}
                place={beside.indexOf(edge)}
                share={(beside.indexOf(edge) + 1) / (beside.length + 1)}
              />
            );
          }),
        )}
      </svg>
    </div>
  );
}

interface EdgeProps {
  readonly edge: GraphEdge;
  readonly from: Placed;
  readonly to: Placed;
  readonly isNarrow: boolean;
  /** Its number among the edges to `to`. */
  readonly place: number;
  /** The place on the side of `to`, as a share of its length. */
  readonly share: number;
}

function Line({ edge, from, to, isNarrow, share }: EdgeProps) {
  const { weight = 0, kind = '' } = edge;
  const stroke = 1 + 4 * weight;
  if (isNarrow) {
    const [x, y] = [from.x + INDENT / 2, to.y + NARROW_HEIGHT / 2];
    const isBelow = to.y > from.y && from.x + INDENT / 2 < to.x;
    if (!isBelow) return null;
    return (
      <path class={`edge ${kind}`} d={`M${x} ${from.y + from.height}V${y}H${to.x}`} stroke-width={stroke} />
    );
  }
  const { isForward, x1, y1, x2, y2 } = endsOf(from, to, share);
  const bend = isForward ? x2 - COLUMN_GAP / 2 : Math.max(x1, x2) + COLUMN_GAP / 2;
  const first = isForward ? x1 + COLUMN_GAP / 2 : bend;
  const curve = `M${x1} ${y1}C${first} ${y1} ${bend} ${y2} ${x2} ${y2}`;
  return <path class={`edge ${kind}`} d={curve} stroke-width={stroke} />;
}

function endsOf(from: Placed, to: Placed, share: number) {
  const isForward = to.column > from.column;
  const [x1, y1] = [from.x + from.width, from.y + from.height / 2];
  return { isForward, x1, y1, x2: isForward ? to.x : to.x + to.width, y2: to.y + to.height * share };
}

function Words({ edge, from, to, isNarrow, place, share }: EdgeProps) {
  const { words, kind = '' } = edge;
  if (words === '') return null;
  if (isNarrow)
    return (
      <text class={`edge ${kind}`} x={to.x + 12} y={to.y + NARROW_HEIGHT + 5 + place * EDGE_ROOM}>
        {cut(`← ${from.name}: ${words}`, NARROW_CHARACTERS)}
      </text>
    );
  const { isForward, y1, x2, y2 } = endsOf(from, to, share);
  const [x, anchor] = isForward ? [x2 - 12, 'end'] : [x2 + 12, 'start'];
  // On the side of the line's end where the line does not come from.
  const y = y1 < y2 ? y2 + BELOW : y2 - ABOVE;
  return (
    <text class={`edge ${kind}`} x={x} y={y} text-anchor={anchor}>
      <title>{visible(words)}</title>
      {cut(words, WORDS_CHARACTERS)}
    </text>
  );
}

function Node({ node, isNarrow }: Readonly<{ node: Placed; isNarrow: boolean }>) {
  const { name, note = '', icon, mark, kind = '', href, onChoose, x, y, width, height } = node;
  const nameLine = isNarrow ? 21 : height / 2 + (note === '' ? 5 : -4);
  const noteLine = isNarrow ? 21 : height / 2 + 15;
  const named = cut(name, NAME_CHARACTERS);
  const room = width - 2 * 12 - ICON_ROOM - (mark ? MARK_ROOM : 0) - named.length * NAME_PIXELS;
  const noted = cut(note, isNarrow ? Math.floor(room / NOTE_PIXELS) : WORDS_CHARACTERS + 3);
  const noteEnd = width - 12 - (mark ? MARK_ROOM : 0);
  const box = (
    <>
      <title>{visible(`${name} ${note}`)}</title>
      <rect width={width} height={height} rx="8" />
      {icon && <DrawnIcon name={icon} x={12} y={nameLine - 12} size={ICON} />}
      <text x={icon ? 12 + ICON_ROOM : 12} y={nameLine} class="name">
        {named}
      </text>
      {mark && <DrawnIcon name={mark} x={isNarrow ? width - 12 - MARK : 12} y={noteLine - 11} size={MARK} />}
      <text
        x={isNarrow ? noteEnd : 12 + (mark ? MARK_ROOM : 0)}
        y={noteLine}
        text-anchor={isNarrow ? 'end' : 'start'}
      >
        {noted}
      </text>
    </>
  );
  const place = { class: `node ${kind}`, transform: `translate(${x} ${y})` };
  if (href !== undefined)
    return (
      <a href={href} {...place}>
        {box}
      </a>
    );
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter' || event.key === ' ') onChoose?.();
  };
  const button = onChoose && ({ role: 'button', tabIndex: 0, onClick: onChoose, onKeyDown } as const);
  return <g {...{ ...place, ...button }}>{box}</g>;
}

/** Fewer characters than this say nothing. */
const LEAST_CHARACTERS = 5;

function cut(text: string, most: number): string {
  const shown = visible(text);
  if (shown.length <= most) return shown;
  return most < LEAST_CHARACTERS ? '' : `${shown.slice(0, most - 1)}…`;
}

/** Each node is one column right of the first that leads to it; those that nothing leads to are at the left. */
function placeAll(nodes: readonly GraphNode[], edges: readonly GraphEdge[]): ReadonlyMap<string, Placed> {
  const columns = columnsOf(nodes, edges);
  const into = Map.groupBy(edges, ({ to }) => to);
  const heightOf = (id: string) => Math.max(NODE_HEIGHT, ((into.get(id)?.length ?? 0) + 1) * EDGE_ROOM);
  const byColumn = Map.groupBy(nodes, ({ id }) => columns.get(id)!);
  const tall = (all: readonly GraphNode[]) =>
    all.reduce((sum, { id }) => sum + heightOf(id) + ROW_GAP, -ROW_GAP);
  const tallest = Math.max(0, ...[...byColumn.values()].map(tall));
  const placed = new Map<string, Placed>();
  for (const [column, all] of byColumn) {
    const x = MARGIN + column * (NODE_WIDTH + COLUMN_GAP);
    let y = MARGIN + (tallest - tall(all)) / 2;
    for (const node of all) {
      const height = heightOf(node.id);
      placed.set(node.id, { ...node, column, x, y, width: NODE_WIDTH, height });
      y += height + ROW_GAP;
    }
  }
  return placed;
}

/** On a narrow page the nodes stand below each other, indented, with the words of their edges in them. */
function placeBelow(nodes: readonly GraphNode[], edges: readonly GraphEdge[]): ReadonlyMap<string, Placed> {
  const columns = columnsOf(nodes, edges);
  const worded = edges.filter(({ words }) => words !== '');
  const into = Map.groupBy(worded, ({ to }) => to);
  const out = Map.groupBy(edges, ({ from }) => from);
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const room = Math.min(MOST_WIDTH, document.documentElement.clientWidth - 4 * MARGIN);
  const placed = new Map<string, Placed>();
  let y = MARGIN;
  const firsts = nodes.filter(({ id }) => columns.get(id) === 0);
  const open = firsts.map(({ id }) => id).toReversed();
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    const node = byId.get(id);
    if (!node || placed.has(id)) continue;
    const column = columns.get(id)!;
    const height = NARROW_HEIGHT + (into.get(id)?.length ?? 0) * EDGE_ROOM;
    const x = MARGIN + Math.min(column, DEEPEST) * INDENT;
    placed.set(id, { ...node, column, x, y, width: room - x, height });
    y += height + MARGIN;
    open.push(...(out.get(id) ?? []).map(({ to }) => to).toReversed());
  }
  return placed;
}

function columnsOf(nodes: readonly GraphNode[], edges: readonly GraphEdge[]): ReadonlyMap<string, number> {
  const out = Map.groupBy(edges, ({ from }) => from);
  const led = new Set(edges.filter(({ from, to }) => from !== to).map(({ to }) => to));
  const columns = new Map<string, number>();
  const walk = (starts: readonly string[]) => {
    const open = starts.map((id) => ({ id, column: 0 }));
    for (const { id, column } of open) {
      if (columns.has(id)) continue;
      columns.set(id, column);
      open.push(...(out.get(id) ?? []).map(({ to }) => ({ id: to, column: column + 1 })));
    }
  };
  walk(nodes.filter(({ id }) => !led.has(id)).map(({ id }) => id));
  // The nodes that are left are on rings that nothing outside leads to.
  for (const { id } of nodes) if (!columns.has(id)) walk([id]);
  return columns;
}
