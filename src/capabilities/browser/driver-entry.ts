import type { ToolOutput } from '../../core/tool.js';
import { fromPlainError, guardProcess, toPlainError } from '../../parsing/separate-process.js';
import { act } from './browser-act.js';
import { extract, observe, resolveRef, screenshot } from './browser-read.js';
import type { CallResponse, DriverLaunch, FromDriver, ServerCalls } from './driver-messages.js';
import type { StepRequest, Steps, ToDriver } from './driver-messages.js';
import type { ConnectionFailure } from '../../http/browsing-proxy.js';
import { navigate, search } from './navigation.js';
import { Session } from './session.js';

/**
 * Drives one browser. A page can make Chromium send messages of any size and number, so this process reads them, and the
 * server can end it (`driver.ts`). The server gets bounded results, one step at a time.
 */
const STEPS: {
  readonly [Name in keyof Steps]: (session: Session, input: Steps[Name]) => Promise<ToolOutput>;
} = {
  open,
  navigate,
  search,
  observe,
  extract,
  find: async (session, { ref }) => ({ content: await resolveRef(session, ref) }),
  act,
  screenshot,
};

let opened: Session | undefined;
/** Resolves the call to the server that the current step waits for. A step makes one call at a time. */
let resolveCall: ((response: CallResponse) => void) | undefined;

if (process.send) {
  guardProcess();
  process.on('message', (message: ToDriver) => {
    if (message.type === 'response') resolveCall?.(message);
    else void run(message);
  });
  process.on('disconnect', () => {
    void (opened?.end() ?? Promise.resolve()).finally(() => process.exit());
  });
}

async function run({ step, input }: StepRequest): Promise<void> {
  const work = STEPS[step] as (session: Session | undefined, input: unknown) => Promise<ToolOutput>;
  const running = opened ? opened.use((session) => work(session, input)) : work(undefined, input);
  const result = await running.then(
    (output) => ({ output }),
    (error: unknown) => ({ error: toPlainError(error, 'tool') }),
  );
  send({ type: 'result', ...result });
}

async function open(_: unknown, launch: DriverLaunch): Promise<ToolOutput> {
  const server: ServerCalls = {
    takeFailures: () => call('takeFailures') as Promise<readonly ConnectionFailure[]>,
    renewProxy: () => call('renewProxy') as Promise<void>,
    toMarkdown: (html) => call('toMarkdown', html) as Promise<string>,
    resolveSecrets: (request) => call('resolveSecrets', request) as Promise<string>,
  };
  opened = await Session.open(launch, server, () => send({ type: 'ended' }));
  return { content: null };
}

async function call(name: keyof ServerCalls, input?: unknown): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<CallResponse>();
  resolveCall = resolve;
  send({ type: 'call', name, input });
  const { value, error } = await promise;
  if (error) throw fromPlainError(error);
  return value;
}

/** Sends a message, or nothing when the server is gone, because this process then ends. */
function send(message: FromDriver): void {
  if (process.connected) process.send!(message, undefined, undefined, () => undefined);
}
