import { duration } from '../../core/duration.js';
import type { KnownNode, MapEdge } from '../../core/node-status.js';
import { owner } from './api.js';
import { Graph, type GraphEdge, type GraphNode } from './graph.js';
import { Icon } from './icons.js';
import { agentsOf, loadNode, loadNodes, nodeName, nodeOf, type NodeStatus } from './node.js';
import { Failures, link, Note, number, Table, timeOf, useLoaded } from './page.js';
import { visible } from './parts.js';

const REFRESH_MS = 5_000;
const HOURS = 24;
const PEOPLE = 'people';

const load = () => Promise.all([loadNode(), owner<{ edges: readonly MapEdge[] }>(`map?hours=${HOURS}`)]);

/** The agents that asked each other in the last day, on this node and from it. */
export function MapView() {
  const { value: nodes = [], fault: away } = useLoaded(loadNodes, []);
  const { value, fault } = useLoaded(load, [], REFRESH_MS);
  if (!value) return <Note>{fault || 'Loading the map…'}</Note>;
  const [status, { edges }] = value;
  return (
    <section>
      <h2>Map</h2>
      <p class="facts">
        The agents that asked each other in the last {HOURS} hours: tasks in an hour, the middle time of a
        task, and what failed. <Icon name="agents" /> agents of {visible(nodes[0]?.name ?? 'this node')},{' '}
        <Icon name="remote" /> remote agents, <Icon name="people" /> people and clients.
      </p>
      {(fault || away) && <Note>{fault || away}</Note>}
      <Graph label="Agents and who asks them" {...drawn(status, edges)} />
      <Nodes nodes={nodes} />
      {edges.length > 0 ? (
        <Edges edges={edges} />
      ) : (
        <p>
          Nobody asked an agent in this time. <a href={link('chat')}>Ask one</a>: its edges appear here.
        </p>
      )}
    </section>
  );
}

const asker = ({ from, fromNode }: MapEdge) =>
  from === '' ? PEOPLE : fromNode === undefined ? from : `${from} on ${nodeName(fromNode)}`;

function drawn(status: NodeStatus, edges: readonly MapEdge[]) {
  const { root, peers } = status;
  const remote = new Map(peers.filter(({ kind }) => kind === 'remote').map((peer) => [peer.name, peer]));
  const own = agentsOf(status);
  const askers = new Set([PEOPLE, ...edges.map(asker)]);
  const names = new Set([...askers, ...own, ...edges.map(({ to }) => to), ...remote.keys()]);
  const most = Math.max(1, ...edges.map(({ calls }) => calls));
  const nodes = [...names].map((name): GraphNode => {
    const peer = remote.get(name);
    const base = { id: name, name };
    if (peer) {
      const isReady = peer.state === 'ready';
      const note = `${peer.state} · on ${nodeOf(name)}`;
      const mark = isReady ? 'completed' : 'warning';
      const kind = isReady ? 'remote' : 'remote bad';
      return { ...base, note, icon: 'remote', mark, kind, href: link('agents') };
    }
    if (own.includes(name)) {
      const note = name === root ? 'the root agent' : '';
      return { ...base, note, icon: 'agents', href: link('agents') };
    }
    return { ...base, icon: name === PEOPLE ? 'people' : 'remote', kind: 'outside' };
  });
  const drawnEdges = edges.map((edge): GraphEdge => ({
    ...{ from: asker(edge), to: edge.to, words: wordsOf(edge), weight: edge.calls / most },
    kind: edge.failed > 0 ? 'bad' : '',
  }));
  return { nodes, edges: [...drawnEdges, ...unused(own, remote.keys(), edges)] };
}

/** Agents that nobody asked yet hang below the root agent, which may ask them. */
function unused([root = '', ...own]: readonly string[], remote: Iterable<string>, edges: readonly MapEdge[]) {
  const asked = new Set(edges.map(({ to }) => to));
  const first = asked.has(root) ? [] : [{ from: PEOPLE, to: root, words: '', kind: 'idle' }];
  const rest = [...own, ...remote].filter((name) => !asked.has(name));
  return [...first, ...rest.map((to) => ({ from: root, to, words: '', kind: 'idle' }))];
}

const hostOf = (url: string) => (URL.canParse(url) ? new URL(url).host : url);

const rateOf = (calls: number) =>
  `${(calls / HOURS).toLocaleString(undefined, { maximumSignificantDigits: 2 })}/h`;

function wordsOf({ calls, failed, time }: MapEdge): string {
  return [rateOf(calls), time && duration(time.p50), failed > 0 && `${number(failed)} failed`]
    .filter(Boolean)
    .join(' · ');
}

/** The time of an edge from a person includes all later edges, so it does not say which agent is slow: it stands last. */
function Edges({ edges }: Readonly<{ edges: readonly MapEdge[] }>) {
  const slowest = edges.toSorted(
    (a, b) => Number(a.from === '') - Number(b.from === '') || (b.time?.p95 ?? 0) - (a.time?.p95 ?? 0),
  );
  return (
    <Table
      caption="The same as a table: the slowest agents first, then what people asked, with all that it took"
      heads={['Asks', 'Asked', 'On node', 'Tasks', 'Failed', 'Time p50', 'Time p95']}
      texts={[0, 1, 2]}
      rows={slowest.map((edge) => [
        ...[asker(edge), edge.to, nodeOf(edge.to)].map(visible),
        ...[number(edge.calls), <Failures count={edge.failed} />],
        ...[edge.time?.p50, edge.time?.p95].map(timeOf),
      ])}
    />
  );
}

function Nodes({ nodes }: Readonly<{ nodes: readonly KnownNode[] }>) {
  if (nodes.length === 0) return null;
  return (
    <p class="facts text">
      Nodes:{' '}
      {nodes.map(({ id, name, url }, index) => (
        <span key={id} title={id}>
          {index > 0 && ', '}
          {visible(name)} {index === 0 ? '(this one)' : url !== undefined && `at ${hostOf(url)}`}
        </span>
      ))}
    </p>
  );
}
