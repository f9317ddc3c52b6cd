import { useState } from 'preact/hooks';
import type { Expected, InspectedFrame, InspectedRequest, Inspection } from '../../core/inspection.js';
import { Lint } from './agents.js';
import { owner } from './api.js';
import type { FieldName, Written } from './inspector-calls.js';
import { curlOf, FIELDS, OPERATIONS, operationsOf, paramsOf, requestOf } from './inspector-calls.js';
import { Icon, Mark } from './icons.js';
import type { Card } from './node.js';
import { Button, Choice, counted, Field, Note, number, useAction } from './page.js';
import { Copy, exact, visible } from './parts.js';

const VERSIONS = ['1.0', '0.3'] as const;
const TRANSPORTS = ['JSONRPC', 'HTTP+JSON', 'GRPC'] as const;
const CARD_PATH = '/.well-known/agent-card.json';
const HELLO = 'hello';
const FIRST_CALL: Expected = { version: '1.0', transport: 'JSONRPC', operation: 'SendMessage' };

/** The values written for the operations on a task: the next one is often about the same task. */
let remembered: Written = {};

type Exchanged = Readonly<{ request: InspectedRequest; result: Inspection }>;

const send = async (request: InspectedRequest): Promise<Exchanged> => ({
  request,
  result: await owner<Inspection>('inspect', 'POST', request),
});

/** Lets an operator call each operation of an agent at any address, and see what goes over the wire. */
export function InspectorView() {
  const [address, setAddress] = useState('');
  const [token, setToken] = useState('');
  const [expects, setExpects] = useState(FIRST_CALL);
  const [card, setCard] = useState<Exchanged>();
  const [exchanged, setExchanged] = useState<Exchanged>();
  const { note, act } = useAction();
  const readCard = () =>
    act(async () => {
      setCard(undefined);
      setCard(await send(cardRequest(address, token)));
      return '';
    }, 'Reading its card…');
  return (
    <section>
      <h2>Inspector</h2>
      <p class="facts">
        Calls an agent of A2A and shows what goes over the wire, checked against the specification. The server
        sends the requests, by its own rules for addresses; nothing is kept. For operators.
      </p>
      <div class="filters">
        <Field
          label="Address of an agent"
          type="url"
          value={address}
          onText={setAddress}
          placeholder="https://"
        />
        <Field
          label="Its token, if it wants one"
          type="password"
          autocomplete="off"
          value={token}
          onText={setToken}
        />
        <Button class="primary" onClick={() => void readCard()}>
          Read its card
        </Button>
      </div>
      {note && <Note>{note}</Note>}
      {card && (
        <CardFound
          exchanged={card}
          onChoose={(url, found) => {
            setAddress(url);
            setExpects({ ...expects, ...found });
          }}
        />
      )}
      <Caller
        key={`${expects.version} ${expects.transport} ${expects.operation}`}
        {...{ address, token, expects, setExpects }}
        onSent={setExchanged}
      />
      {exchanged && <Wire exchanged={exchanged} />}
    </section>
  );
}

function cardRequest(address: string, token: string): InspectedRequest {
  const { origin, pathname } = new URL(address);
  const base = pathname.replace(/\/$/, '');
  const path = base.endsWith('.json') ? base : base + CARD_PATH;
  const headers = { accept: 'application/json', ...(token !== '' && { authorization: `Bearer ${token}` }) };
  return { origin, path, method: 'GET', headers };
}

type CardFoundProps = Readonly<{
  exchanged: Exchanged;
  onChoose: (url: string, found: Pick<Expected, 'version' | 'transport'>) => void;
}>;

function CardFound({ exchanged, onChoose }: CardFoundProps) {
  const { status, frames, findings } = exchanged.result;
  const card = findings && (JSON.parse(frames[0]!.text) as Card & { url?: string });
  const listed = card?.supportedInterfaces ?? [];
  const known = listed.flatMap(({ url, protocolBinding, protocolVersion = '1.0' }) => {
    const transport = TRANSPORTS.find((one) => one === protocolBinding);
    const version = VERSIONS.find((one) => protocolVersion.startsWith(one));
    return transport && version ? [{ url: withScheme(url, exchanged.request), transport, version }] : [];
  });
  return (
    <section class="card" aria-label="Its card">
      <h3>{card ? visible(card.name ?? '') : `There is no card: status ${status}`}</h3>
      {findings && <Lint findings={findings} />}
      <p class="suggestions">
        {known.map(({ url, transport, version }) => (
          <Button
            key={`${url} ${transport} ${version}`}
            onClick={() => onChoose(url, { transport, version })}
          >
            {transport} {version} at {visible(url)}
          </Button>
        ))}
      </p>
      <Wire exchanged={exchanged} isFolded />
    </section>
  );
}

/** An interface of gRPC may be named as host and port. It uses TLS when its card did. */
function withScheme(url: string, { origin }: InspectedRequest): string {
  if (/^https?:/.test(url)) return url;
  const isSecure = /^grpc(?:s|\+tls):/.test(url) || (!url.includes('://') && origin.startsWith('https:'));
  return `${isSecure ? 'https' : 'http'}://${url.replace(/^[a-z+]+:\/+/, '')}`;
}

interface CallerProps {
  readonly address: string;
  readonly token: string;
  readonly expects: Expected;
  readonly setExpects: (expects: Expected) => void;
  readonly onSent: (exchanged: Exchanged | undefined) => void;
}

function Caller({ address, token, expects, setExpects, onSent }: CallerProps) {
  const { takes } = OPERATIONS[expects.operation]!;
  const textOf = (fields: Written) => JSON.stringify(paramsOf(expects, fields), undefined, 2);
  const [written, setWritten] = useState<Written>(takes.includes('text') ? { text: HELLO } : remembered);
  const [params, setParams] = useState(textOf(written));
  const write = (field: FieldName, text: string) => {
    const next = { ...written, [field]: text };
    if (field !== 'text') remembered = next;
    setWritten(next);
    setParams(textOf(next));
  };
  const { note, act } = useAction();
  const call = () =>
    act(async () => {
      onSent(undefined);
      onSent(await send(requestOf({ address, token, expects, params: JSON.parse(params) as object })));
      return '';
    }, 'Waiting for the response…');
  const choose = (changed: Partial<Expected>) => {
    const next = { ...expects, ...changed };
    const isThere = operationsOf(next.version).includes(next.operation);
    setExpects(isThere ? next : { ...next, operation: 'SendMessage' });
  };
  const choices = [
    ['Operation', 'operation', operationsOf(expects.version)],
    ['Transport', 'transport', TRANSPORTS],
    ['Version', 'version', VERSIONS],
  ] as const;
  return (
    <section class="card" aria-label="A call">
      <div class="filters">
        {choices.map(([label, name, names]) => (
          <Choice
            key={name}
            {...{ label, names, value: expects[name] }}
            onChoose={(chosen) => choose({ [name]: chosen })}
          />
        ))}
        {takes.map((field) => (
          <Field
            key={field}
            label={FIELDS[field]}
            value={written[field] ?? ''}
            onText={(text) => write(field, text)}
          />
        ))}
      </div>
      <label>
        Parameters, as they are sent
        <textarea
          rows={8}
          spellcheck={false}
          value={params}
          onInput={({ currentTarget }) => setParams(currentTarget.value)}
        />
      </label>
      <p class="buttons">
        <Button class="primary" onClick={() => void call()}>
          Call it
        </Button>
      </p>
      {note && <Note>{note}</Note>}
    </section>
  );
}

/** Both directions of an exchange. */
function Wire({ exchanged, isFolded = false }: Readonly<{ exchanged: Exchanged; isFolded?: boolean }>) {
  const { request, result } = exchanged;
  const { status, headers, frames, cut, sentProblems = [] } = result;
  const { method, path, body } = request;
  const problems = frames.reduce((sum, frame) => sum + frame.problems.length, sentProblems.length);
  const curl = curlOf(request);
  const sent = Object.entries(request.headers).map(([name, value]) =>
    name === 'authorization' ? `${name}: (your token)` : `${name}: ${value}`,
  );
  const got = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return (
    <details open={!isFolded}>
      <summary>
        Status {status}, {counted(frames.length, 'frame')}
        {request.expects && <Verdict problems={problems} />}
      </summary>
      <h3>Sent</h3>
      <pre class="wire" tabIndex={0}>
        {visible([`${method} ${path}`, ...sent, ...(body === undefined ? [] : ['', body])].join('\n'))}
      </pre>
      <Problems problems={sentProblems} />
      <p>
        <Copy text={curl} /> as {request.expects?.transport === 'GRPC' ? 'grpcurl' : 'curl'}
      </p>
      <h3>Received</h3>
      <pre class="wire" tabIndex={0}>
        {visible([`${status}`, ...got].join('\n'))}
      </pre>
      {frames.map((frame, index) => (
        <Frame key={index} frame={frame} />
      ))}
      {cut !== undefined && <Note>The response is not whole: {visible(cut)}</Note>}
    </details>
  );
}

function Verdict({ problems }: Readonly<{ problems: number }>) {
  const kind = problems === 0 ? 'completed' : 'failed';
  return (
    <>
      ,{' '}
      <Mark icon={kind} kind={kind}>
        {problems === 0 ? 'as specified' : counted(problems, 'violation')}
      </Mark>
    </>
  );
}

function Frame({ frame: { ms, text, problems } }: Readonly<{ frame: InspectedFrame }>) {
  return (
    <article>
      <p class="facts">after {number(ms)} ms</p>
      <Problems problems={problems} />
      <pre tabIndex={0}>{pretty(text)}</pre>
    </article>
  );
}

const Problems = ({ problems }: Pick<InspectedFrame, 'problems'>) => (
  <>
    {problems.map((problem) => (
      <p key={problem} class="text failed">
        <Icon name="failed" /> {visible(problem)}
      </p>
    ))}
  </>
);

function pretty(text: string): string {
  try {
    return exact(JSON.parse(text));
  } catch {
    return visible(text);
  }
}
