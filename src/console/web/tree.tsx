import { duration } from '../../core/duration.js';
import type { Span } from '../../core/node-status.js';
import { Graph, type GraphEdge, type GraphNode } from './graph.js';
import { agentsOf, farNodeOf, node, nodeName, readCard } from './node.js';
import { visible } from './parts.js';
import { link, money, Note, number, Table, useLoaded } from './page.js';
import { spansAt, spentWords, textIn, useTrace, type Below } from './trace.js';
import { stateWords, usageIn, type Task } from './wire.js';

const TOOLS_SHOWN = 20;

/** The delegations below a task, with the time, tokens and money of each, as they were at `at` (in ms) or as they are now. */
export function Tree({ task, at }: Readonly<{ task: Task; at: number | undefined }>) {
  const { value, fault } = useTrace(task);
  if (!value) return <Note>{fault || 'Loading the tree…'}</Note>;
  const spans = spansAt(value, at);
  const below = Map.groupBy(spans, ({ parent }) => parent);
  const [root] = spans;
  return (
    <>
      {root && <Drawn root={root} below={below} />}
      <ul class="tree">{root && <Agent span={root} below={below} />}</ul>
      {below.get(root?.id)?.every((span) => !isDelegation(span)) && (
        <p>
          The agent delegated nothing{at === undefined ? '' : ' up to this event'}. Its own steps are in the
          waterfall.
        </p>
      )}
      {value.isCut && <p>The tree is too large to be shown whole.</p>}
    </>
  );
}

/** The same tree as a graph: delegations of one agent to the same one are one edge. */
function Drawn({ root, below }: Readonly<{ root: Span; below: Below }>) {
  const nodes: GraphNode[] = [];
  const edges: GraphEdge[] = [];
  const rootName = textIn(root, 'gen_ai.agent.name') ?? '';
  const open = [{ id: rootName, spans: [root] as readonly Span[] }];
  for (const { id, spans } of open) {
    const works = spans.flatMap((span) => workOf(span, below));
    const time = spans.reduce((sum, one) => sum + (one.endedAt ?? Date.now()) - one.startedAt, 0);
    const name = textIn(spans[0]!, 'gen_ai.agent.name') ?? '';
    const failed = spans.filter((span) => textIn(span, 'error.type') !== undefined).length;
    const note = [duration(time), ...spentWords(spans[0]!, below)].slice(0, spans.length === 1 ? 3 : 1);
    const ended = failed > 0 ? 'failed' : 'completed';
    const mark = spans.some(({ endedAt }) => endedAt === undefined) ? 'works' : ended;
    const icon = farNodeOf(name) === undefined ? 'agents' : 'remote';
    nodes.push({ id, name, icon, mark, note: note.join(' · '), kind: failed > 0 ? 'bad' : '' });
    const asked = Map.groupBy(works.filter(isDelegation), ({ name: words }) => words);
    for (const [words, calls] of asked) {
      const to = `${id} ${words}`;
      const bad = calls.filter((call) => textIn(call, 'error.type') !== undefined).length;
      const facts = [`${calls.length} ×`, bad > 0 && `${bad} failed`].filter(Boolean).join(' · ');
      edges.push({ from: id, to, words: facts, kind: bad > 0 ? 'bad' : '' });
      if (open.length < MAX_DRAWN) open.push({ id: to, spans: calls });
    }
  }
  if (edges.length === 0) return null;
  return <Graph label="The tree as a graph" nodes={nodes} edges={edges} />;
}

const MAX_DRAWN = 60;

const isDelegation = ({ name }: Span) => name.startsWith('invoke_agent ');
/** The work of an agent. Below a delegation is the task of the agent, where it is known here, and below that its own work. */
function workOf(span: Span, below: Below): readonly Span[] {
  const own = below.get(span.id) ?? [];
  return span.kind === 'client' ? own.flatMap(({ id }) => below.get(id) ?? []) : own;
}

/** An agent at work: the task that was asked for, or a delegation with the task that it began. */
function Agent({ span, below }: Readonly<{ span: Span; below: Below }>) {
  const agent = textIn(span, 'gen_ai.agent.name') ?? '';
  const own = below.get(span.id) ?? [];
  const work = workOf(span, below);
  const tools = work.filter(({ name }) => name.startsWith('execute_tool '));
  const isOver = span.endedAt !== undefined;
  const told = textIn(span, 'error.type') ?? textIn(span, 'lango.state');
  const state = told ?? (isOver ? 'completed' : 'working');
  return (
    <li>
      <p>
        <Name agent={agent} child={textIn(span, 'lango.child.task')} task={own[0]} />{' '}
        <span class="facts">
          {isOver && /required/.test(state) ? 'asked a question' : stateWords(state)},{' '}
          {duration((span.endedAt ?? Date.now()) - span.startedAt)}, {spentWords(span, below).join(', ')}
        </span>
      </p>
      {tools.length > 0 && (
        <p class="facts text">
          {tools
            .slice(0, TOOLS_SHOWN)
            .map(({ name, startedAt, endedAt }) => {
              const time = endedAt === undefined ? 'works' : duration(endedAt - startedAt);
              return `${visible(name.slice('execute_tool '.length))} ${time}`;
            })
            .join(', ')}
          {tools.length > TOOLS_SHOWN && ` and ${tools.length - TOOLS_SHOWN} more`}
        </p>
      )}
      <ul>
        {work.filter(isDelegation).map((one) => (
          <Agent key={one.id} span={one} below={below} />
        ))}
      </ul>
    </li>
  );
}

type NameProps = Readonly<{ agent: string; child: string | undefined; task: Span | undefined }>;

/** Leads to the task of a delegation, wherever it ran. `task` is the span of that task, where it is known here. */
function Name({ agent, child, task }: NameProps) {
  const status = node.value;
  const claimed = task && textIn(task, 'lango.node.claimed_url');
  const url = (task && textIn(task, 'lango.node.url')) ?? claimed;
  if (task && child !== undefined && url !== undefined && isWeb(url)) {
    const name = textIn(task, 'gen_ai.agent.name') ?? agent;
    const host = claimed === undefined ? undefined : new URL(claimed).host;
    return <FarLink agent={agent} url={url} place={link('tasks', name, child)} host={host} />;
  }
  if (child === undefined || !status) return <strong>{visible(agent)}</strong>;
  if (agentsOf(status).includes(agent)) return <a href={link('tasks', agent, child)}>{agent}</a>;
  const isPeer = status.peers.some(({ name, kind }) => name === agent && kind === 'remote');
  return isPeer ? <RemoteName agent={agent} child={child} /> : <strong>{visible(agent)}</strong>;
}

/** Leads to the console of the node that the card of a remote agent names. */
function RemoteName({ agent, child }: Readonly<{ agent: string; child: string }>) {
  const { value } = useLoaded(() => readCard(agent), [agent]);
  const url = value?.card.supportedInterfaces?.find((one) => isWeb(one.url))?.url;
  if (!value || url === undefined) return <strong>{visible(agent)}</strong>;
  return <FarLink agent={agent} url={url} place={link('tasks', value.card.name ?? agent, child)} />;
}

const isWeb = (url: string) => /^https?:/.test(url) && URL.canParse(url);

/**
 * A link to a place in the console of the node whose agent has the address `url`. `host` is shown when only another node
 * says that address: it may lead anywhere.
 */
function FarLink(props: Readonly<{ agent: string; url: string; place: string; host?: string | undefined }>) {
  const { agent, url, place, host } = props;
  const base = url.replace(/(\/agents\/[^/]+|\/\.well-known\/.*)?\/?$/, '');
  return (
    <a href={`${base}/console/${place}`} target="_blank" rel="noreferrer">
      {visible(agent)} on{' '}
      {host === undefined ? visible(farNodeOf(agent) ?? 'its node') : `its node at ${host}`}
    </a>
  );
}

/** The tokens and money of each agent and model, on each node. */
export function Spending({ task }: Readonly<{ task: Task }>) {
  const { rows = [] } = usageIn(task) ?? {};
  if (rows.length === 0) return null;
  return (
    <Table
      caption="Tokens and money, with all delegations"
      heads={['Agent', 'Node', 'Model', 'In', 'Out', 'Money']}
      texts={[0, 1, 2]}
      rows={rows.map((row) => [
        ...[row.agent, <span title={row.node}>{visible(nodeName(row.node))}</span>, row.model],
        ...[number(row.input), number(row.output), money([row]) || 'no price'],
      ])}
    />
  );
}
