import { errorText, LangoError } from '../../core/errors.js';
import type { ToolOutput } from '../../core/tool.js';
import type { PlainError } from '../../parsing/separate-process.js';
import type { Chromium, ProfileFiles } from './launch.js';
import type { BrowserLimits } from './settings.js';
import type { BrowsingProxy, ConnectionFailure } from '../../http/browsing-proxy.js';

export const ACTIONS = ['click', 'type', 'select', 'check', 'uncheck', 'press'] as const;
export type Action = (typeof ACTIONS)[number];
export const MODES = ['text', 'markdown', 'links', 'article'] as const;

/** The steps of a browser by name, each with its input: `open` first. All messages are plain data of bounded size. */
export interface Steps {
  open: DriverLaunch;
  navigate: { readonly url: string };
  search: { readonly url: string; readonly limit: number };
  observe: { readonly offset: number };
  extract: { readonly mode: (typeof MODES)[number]; readonly offset: number };
  /** Rejects when the element is not on the page that is shown. */
  find: { readonly ref: string };
  act: { readonly ref: string; readonly action: Action; readonly value: string };
  screenshot: { readonly fullPage: boolean };
}

export interface DriverLaunch {
  readonly chromium: Chromium;
  readonly profile: ProfileFiles;
  readonly proxy: Pick<BrowsingProxy, 'port' | 'login'>;
  readonly limits: BrowserLimits;
}

/** The functions of the server that a step may call. Their `LangoError`s reach the driver unchanged. */
export interface ServerCalls {
  /** Returns the connections that the proxy refused since the last call. */
  takeFailures(): Promise<readonly ConnectionFailure[]>;
  /** Resets the proxy's byte count and its list of refused connections. */
  renewProxy(): Promise<void>;
  toMarkdown(html: string): Promise<string>;
  /** Replaces each `{{secret:NAME}}` in the text with the value, which `host` receives. */
  resolveSecrets(request: { readonly text: string; readonly host: string }): Promise<string>;
}

export interface StepRequest {
  readonly type: 'step';
  readonly step: keyof Steps;
  readonly input: unknown;
}

/** The response of the server to a call. */
export interface CallResponse {
  readonly type: 'response';
  readonly value?: unknown;
  readonly error?: PlainError;
}

export type ToDriver = StepRequest | CallResponse;

export type FromDriver =
  | { readonly type: 'result'; readonly output?: ToolOutput; readonly error?: PlainError }
  | { readonly type: 'call'; readonly name: keyof ServerCalls; readonly input: unknown }
  /** The browser ends: no further step can run. */
  | { readonly type: 'ended' };

export const RESTART_HINT = 'Call browser_navigate to start a new browser.';

/** The error of a step that runs while the browser ends, or after that. */
export function browserEnded(error?: unknown): LangoError {
  const cause = error === undefined ? undefined : new Error(errorText(error).slice(0, 500));
  const problem = 'The browser ended, and its page is lost.';
  return new LangoError('unavailable', problem, { hint: RESTART_HINT, cause });
}
