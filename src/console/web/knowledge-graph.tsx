import { useState } from 'preact/hooks';
import { pagesOf } from '../../core/page.js';
import { Graph, type GraphEdge, type GraphNode } from './graph.js';
import { Button, counted, Field, Note, number, useLoaded } from './page.js';
import { visible } from './parts.js';

type Triple = Readonly<{ subject: string; predicate: string; object: string; sources?: readonly string[] }>;

type ReadPage = (after?: string) => Promise<Readonly<{ items: readonly unknown[]; next?: string }>>;

const MOST_TRIPLES = 4_000;
const MOST_FOUND = 12;
const MOST_BESIDE = 16;

async function readTriples(read: ReadPage) {
  const triples: Triple[] = [];
  for await (const { items, next } of pagesOf(read)) {
    triples.push(...(items as readonly Triple[]));
    if (triples.length >= MOST_TRIPLES) return { triples, isCut: next !== undefined };
  }
  return { triples, isCut: false };
}

/** One name of the knowledge graph with its neighbors; a click moves to a neighbor. */
export function KnowledgeGraph({ read }: Readonly<{ read: ReadPage }>) {
  const { value, fault } = useLoaded(() => readTriples(read), []);
  const [search, setSearch] = useState('');
  const [chosen, setChosen] = useState<string>();
  if (!value) return <Note>{fault || 'Loading the graph…'}</Note>;
  const { triples, isCut } = value;
  if (triples.length === 0) return null;
  const degrees = degreesOf(triples);
  const names = [...degrees.keys()].sort((a, b) => degrees.get(b)! - degrees.get(a)!);
  const words = search.trim().toLowerCase();
  const found = names.filter((name) => name.toLowerCase().includes(words));
  const here = chosen !== undefined && degrees.has(chosen) ? chosen : found[0];
  const around = triples.filter(({ subject, object }) => subject === here || object === here);
  return (
    <section aria-label="Graph">
      <div class="filters">
        <Field
          label="Search a name"
          type="search"
          value={search}
          onText={(text) => {
            setSearch(text);
            setChosen(undefined);
          }}
        />
      </div>
      <p class="facts">
        {number(names.length)} names, {counted(triples.length, 'triple')}
        {isCut && ', and more that are not drawn'}.
      </p>
      <p class="suggestions">
        {found.slice(0, MOST_FOUND).map((name) => (
          <Button key={name} aria-pressed={name === here} onClick={() => setChosen(name)}>
            {visible(name)}
          </Button>
        ))}
      </p>
      {here === undefined ? (
        <Note>No name has these letters.</Note>
      ) : (
        <Graph label={`Around ${here}`} {...drawn(here, around, { degrees, setChosen })} />
      )}
      <Sources triples={around} />
    </section>
  );
}

function degreesOf(triples: readonly Triple[]): ReadonlyMap<string, number> {
  const degrees = new Map<string, number>();
  for (const { subject, object } of triples)
    for (const name of [subject, object]) degrees.set(name, (degrees.get(name) ?? 0) + 1);
  return degrees;
}

type Drawing = Readonly<{ degrees: ReadonlyMap<string, number>; setChosen: (name: string) => void }>;

/** Draws the names that lead to a name at its left, and those that it leads to at its right. */
function drawn(here: string, around: readonly Triple[], { degrees, setChosen }: Drawing) {
  const nodes = new Map<string, GraphNode>([[HERE, { id: HERE, name: here, icon: 'idea', kind: 'here' }]]);
  const edges = new Map<string, GraphEdge>();
  for (const side of ['in', 'out']) {
    const isIn = side === 'in';
    const triples = around.filter(({ subject, object }) => (isIn ? object : subject) === here);
    for (const { subject, predicate, object } of triples.slice(0, MOST_BESIDE)) {
      const name = isIn ? subject : object;
      const id = `${side} ${name}`;
      const note = counted(degrees.get(name) ?? 0, 'triple');
      nodes.set(id, { id, name, icon: 'idea', note, onChoose: () => setChosen(name) });
      const before = edges.get(id)?.words;
      const words = before === undefined ? predicate : `${before}, ${predicate}`;
      edges.set(id, { from: isIn ? id : HERE, to: isIn ? HERE : id, words });
    }
  }
  return { nodes: [...nodes.values()], edges: [...edges.values()] };
}

const HERE = 'here';

function Sources({ triples }: Readonly<{ triples: readonly Triple[] }>) {
  return (
    <details>
      <summary>{counted(triples.length, 'triple')} of it with their sources</summary>
      <ul class="plain">
        {triples.map(({ subject, predicate, object, sources = [] }) => (
          <li key={`${subject} ${predicate} ${object}`} class="text">
            {visible(`${subject} ${predicate} ${object}`)}{' '}
            <small class="facts">{visible(sources.join(', '))}</small>
          </li>
        ))}
      </ul>
    </details>
  );
}
