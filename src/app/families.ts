import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../config/config.js';
import { isLoopback } from '../config/risks.js';
import type { Secrets } from '../config/secrets.js';
import { readEnv } from '../config/env.js';
import { isLangoError } from '../core/errors.js';
import type { ReadKeys } from '../core/card.js';
import type { Logger } from '../core/logger.js';
import { noSecrets, type SecretGuard } from '../core/secrets.js';
import { GAS_DECIMALS } from '../capabilities/payments/decimal.js';
import type { Storage } from '../stores/storage.js';
import { missing, off, type NodeFinding, type ToolFamily } from '../core/tool-family.js';
import { createEgress } from '../http/egress.js';
import { createBrowser, findChromium } from '../capabilities/browser/browser.js';
import { createCryptoTools } from '../capabilities/secrets/crypto/index.js';
import {
  createExec,
  findSandbox,
  type ExecOptions,
  type SandboxFinding,
} from '../capabilities/workspace/exec/index.js';
import { UnfinishedWrites, createFsTools, createOwnedFiles } from '../capabilities/workspace/fs/index.js';
import { createGraphTools } from '../capabilities/knowledge/graph/index.js';
import { createHttpTools } from '../capabilities/workspace/requests/index.js';
import type { Parsers } from '../parsing/parsers.js';
import { isInstalled } from '../disk/programs.js';
import { toUnits } from '../capabilities/payments/amount.js';
import { openMcp } from './mcp.js';
import { createSecretsTools } from '../capabilities/secrets/secrets-tools.js';
import { createSkills, type Skills } from '../capabilities/skills/skills.js';
import {
  createDisk,
  isKeptElsewhere,
  ownedSkillsRoot,
  skillsElsewhere,
  type Disk,
  type VaultAccess,
} from './stores.js';

/** The parts that families are opened with. */
export interface FamilyParts {
  readonly config: Config;
  readonly secrets: Secrets;
  readonly storage: Storage;
  readonly vault: VaultAccess;
  readonly guard: SecretGuard;
  /** The keys of this node. */
  readonly keys: ReadKeys;
  readonly parsers: Parsers;
  /** The result of `startSandboxSearch`. */
  readonly sandbox: Promise<SandboxFinding> | undefined;
  readonly logger: Logger;
}

interface FamilyContext extends FamilyParts {
  readonly disk: Disk;
}

type OpenFamily = (context: FamilyContext) => ToolFamily | Promise<ToolFamily>;

/**
 * The shipped families that share no part with another family. A new family is a folder in tools/, its opener, and a
 * line here.
 */
const FAMILIES: readonly OpenFamily[] = [
  openFs,
  openGraph,
  openBrowser,
  openHttp,
  openSecrets,
  openCrypto,
  openPayment,
  openMcp,
];

/** Opens all families of tools at the same time. Rejects when one cannot be opened, and then closes the others. */
export async function openFamilies(given: FamilyParts): Promise<readonly ToolFamily[]> {
  const context = { ...given, disk: createDisk(given.config) };
  const skills = openSkills(context);
  const results = await Promise.allSettled([
    openExec(context, skills),
    ...FAMILIES.map(async (open) => open(context)),
    skillsFamily(context, skills),
  ]);
  const families = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const failure = results.find((result) => result.status === 'rejected');
  if (failure) {
    await closeFamilies(families);
    throw failure.reason;
  }
  return families;
}

export async function closeFamilies(families: readonly ToolFamily[]): Promise<void> {
  for (const family of families) await family.close?.();
}

/** Logs a warning for each family that is on and cannot work, and for each finding that an operator should know. */
export function logFindings(families: readonly ToolFamily[], logger: Logger): void {
  for (const { name, state, note = '', hint, findings = [] } of families) {
    if (state === 'missing') logger.warn(`no ${name} tools: ${note}`, { code: 'missing-tools', hint });
    for (const finding of findings.filter((each) => each.state === 'warn')) {
      logger.warn(finding.text, { code: finding.code, hint: finding.hint });
    }
  }
}

/** Starts the search for a sandbox. It runs real commands, so the start of the server does not wait for it. */
export function startSandboxSearch({ tools, workspace }: Config): Promise<SandboxFinding> | undefined {
  if (!tools.exec.enabled) return undefined;
  const finding = findSandbox({ mode: tools.exec.sandbox, roots: workspace });
  finding.catch(() => undefined); // openExec waits for it, and passes a failure on
  return finding;
}

async function openFs({ config: { home, tools }, disk }: FamilyContext): Promise<ToolFamily> {
  const ownedData = disk.folders.isApart ? createOwnedFiles(disk) : undefined;
  if (!tools.fs.enabled) return { ...off('fs'), ownedData };
  const unfinished = new UnfinishedWrites(join(home, 'unfinished-writes'));
  await unfinished.removeLeft();
  return { name: 'fs', state: 'on', tools: createFsTools({ ...disk, unfinished, ...tools.fs }), ownedData };
}

const APART_HINT =
  'Without a sandbox, commands would reach the files of all owners. Install one, or set disk.workspaces: shared.';

/** Commands may read the skills of their owner, so that they can run the scripts of a skill. */
async function openExec(context: FamilyContext, skills: Skills): Promise<ToolFamily> {
  const { config, disk, sandbox: finding, logger } = context;
  const { tools } = config;
  if (!finding) return off('exec');
  const { sandbox, reason = '' } = await finding;
  if (!sandbox && disk.folders.isApart) return missing('exec', { message: reason, hint: APART_HINT });
  const exec = createExec({
    ...disk,
    sandbox,
    network: tools.exec.network,
    environment: readEnv().variables,
    envAllow: tools.exec.envAllow,
    limits: tools.exec,
    readable: tools.skills.enabled ? (scope) => skills.folders(scope) : undefined,
    openForwarder: await createForwarderOpener(context),
    scrubber: (scope) => context.guard.scrubber(scope),
    logger,
  });
  const subject = 'sandbox';
  const sandboxFinding: NodeFinding = !sandbox
    ? { code: 'no-sandbox', subject, state: 'warn', text: unsandboxedText(reason, config.approval.policy) }
    : sandbox.lacks === undefined
      ? { code: 'sandboxed', subject, state: 'ok', text: 'commands run in one' }
      : { code: 'weak-sandbox', subject, state: 'warn', text: `this machine lacks ${sandbox.lacks}` };
  const close = () => exec.close();
  return { name: 'exec', state: 'on', tools: exec.tools, findings: [sandboxFinding], close };
}

/** The longest data folder whose sockets have addresses of at most 107 bytes (unix(7)). */
const LONGEST_HOME = 75;

/** Requests of commands are sent like those of `http_request`, with the secrets of the command's owner. */
async function createForwarderOpener(context: FamilyContext): Promise<ExecOptions['openForwarder']> {
  const { config, guard } = context;
  if (guard === noSecrets || !config.tools.http.enabled) return undefined;
  const folder = config.home.length > LONGEST_HOME ? tmpdir() : join(config.home, 'run');
  if (folder !== tmpdir()) await rm(folder, { recursive: true, force: true });
  const webFetch = serviceFetch(context);
  return async (scope) => {
    const { openForwarder } = await import('../http/forwarder.js');
    const scrubber = guard.scrubber(scope);
    return openForwarder({
      ...{ folder, webFetch, isLocal: isLoopback, scrubber },
      resolve: (text, host, use) => guard.resolve(scope, text, { tool: 'exec', place: 'http', host, ...use }),
    });
  };
}

function unsandboxedText(reason: string, policy: Config['approval']['policy']): string {
  const needsApproval = Array.isArray(policy) ? policy.includes('exec') : policy !== 'none';
  const approval = needsApproval ? 'so each one waits for approval' : 'and approval.policy asks nobody';
  return `commands run without a sandbox, ${approval}: ${reason}`;
}

function openSkills({ config, disk, keys, parsers, logger }: FamilyContext): Skills {
  const { folders, workspace } = config.tools.skills;
  return createSkills({
    shared: folders,
    ...disk,
    hasWorkspaceSkills: workspace,
    owned: ownedSkillsRoot(config),
    elsewhere: skillsElsewhere({ config, keys, logger }),
    parsers,
    logger,
  });
}

async function skillsFamily({ config }: FamilyContext, skills: Skills): Promise<ToolFamily> {
  const { ownedData } = skills;
  if (!config.tools.skills.enabled) return { ...off('skills'), ownedData };
  await skills.source.refresh(undefined);
  return { name: 'skills', state: 'on', tools: skills.tools, sources: [skills.source], ownedData };
}

function openGraph({ config, storage }: FamilyContext): ToolFamily {
  if (!config.graph.enabled) return off('graph', 'graph.enabled');
  return { name: 'graph', state: 'on', tools: createGraphTools(storage.graph) };
}

/** The browser sends its requests through a proxy that follows the address rules of the egress client. */
async function openBrowser({ config, parsers, logger }: FamilyContext): Promise<ToolFamily> {
  const name = 'browser';
  const { enabled, executable, sandbox, allowHosts, searchUrl, ...limits } = config.tools.browser;
  if (!enabled) return off(name);
  try {
    const path = readEnv().variables['PATH'] ?? '';
    const chromium = await findChromium({ sandbox, path, executable });
    const allowPrivate = [...config.egress.allowPrivate, ...allowHosts];
    const browser = createBrowser({
      chromium,
      limits,
      parsers,
      logger,
      searchUrl,
      // Loaded on first use: a server whose browser opens no page starts faster and smaller without it.
      openProxy: async (onFailure) => {
        const { openBrowsingProxy } = await import('../http/browsing-proxy.js');
        return openBrowsingProxy({ allowPrivate, maxBytes: limits.pageBytes, onFailure });
      },
    });
    return {
      name,
      state: 'on',
      tools: browser.tools,
      findings: sandbox ? [] : [NO_BROWSER_SANDBOX],
      note: `with ${chromium.executable}${searchUrl ? '' : '; browser_search is left out'}`,
      hint: searchUrl ? undefined : 'For browser_search set tools.browser.searchUrl.',
      close: () => browser.close(),
    };
  } catch (error) {
    if (!isLangoError(error, 'unavailable')) throw error;
    return missing(name, error);
  }
}

const NO_BROWSER_SANDBOX: NodeFinding = {
  code: 'no-browser-sandbox',
  subject: 'browser sandbox',
  state: 'warn',
  text: 'the browser runs without its sandbox (tools.browser.sandbox): pages may break out of it',
};

function openHttp(context: FamilyContext): ToolFamily {
  const { enabled, timeoutSeconds } = context.config.tools.http;
  if (!enabled) return off('http');
  return { name: 'http', state: 'on', tools: createHttpTools(serviceFetch(context), timeoutSeconds) };
}

function serviceFetch({ config: { tools, egress }, logger }: FamilyContext): typeof fetch {
  const { timeoutSeconds, answerBytes } = tools.http;
  return createEgress({ ...egress, timeoutMs: timeoutSeconds * 1_000, maxBytes: answerBytes, logger });
}

function openSecrets({ config, vault }: FamilyContext): ToolFamily {
  if (!config.tools.secrets.enabled) return off('secrets');
  if (isKeptElsewhere(config, 'secrets')) return keptElsewhere('secrets', config);
  if (vault.problem) return missing('secrets', vault.problem);
  return { name: 'secrets', state: 'on', tools: createSecretsTools(vault.secrets) };
}

/** Returns a family without tools, because another node keeps this kind of data; undefined otherwise. */
function keptElsewhere(name: string, { a2a }: Config): ToolFamily {
  const note = `a2a.keptAt.secrets: the vault is at ${a2a.keptAt.secrets?.url}`;
  return { name, state: 'off', tools: [], note };
}

function openCrypto({ config, vault }: FamilyContext): ToolFamily {
  if (!config.tools.crypto.enabled) return off('crypto');
  if (isKeptElsewhere(config, 'secrets')) return keptElsewhere('crypto', config);
  if (vault.problem) return missing('crypto', vault.problem);
  return { name: 'crypto', state: 'on', tools: createCryptoTools(vault.vault, vault.secrets) };
}

/** Optional packages of the family `payment`. Their presence is checked at the start; the first payment loads them. */
const PAYMENT_PACKAGES = ['viem', '@x402/core/schemas'] as const;
const MAX_PAID_ANSWER_BYTES = 1024 * 1024;

/** The code of the family is loaded only where it is on, and the chain's libraries only when a payment was left open. */
async function openPayment({ config, storage, vault: access, logger }: FamilyContext): Promise<ToolFamily> {
  const name = 'payment';
  const { payment, egress } = config;
  if (!payment.enabled) return off(name, 'payment.enabled');
  const absent = PAYMENT_PACKAGES.filter((one) => !isInstalled(one)).map((one) =>
    one.replace('/schemas', ''),
  );
  if (absent.length > 0) {
    const message = `packages are not installed: ${absent.join(', ')}`;
    return missing(name, { message, hint: `Run: npm install ${absent.join(' ')}` });
  }
  const { vault, problem } = access;
  if (!vault) {
    const message = `the vault cannot be opened: ${problem.message}`;
    return missing(name, { message, hint: problem.hint ?? 'See docs/guides/pay.md.' });
  }
  const { createPayments, networkOf } = await import('../capabilities/payments/payments.js');
  const network = networkOf({ name: payment.network, rpcUrl: payment.rpcUrl, token: payment.tokenAddress });
  const requestMs = 1_000 * payment.requestSeconds;
  const confirmMs = 1_000 * payment.confirmSeconds;
  const payments = createPayments({
    network,
    store: storage.payments,
    vault,
    limits: {
      perTransaction: toUnits(payment.limits.perTransaction),
      daily: toUnits(payment.limits.daily),
    },
    maxGasCost: toUnits(payment.limits.gasCost, GAS_DECIMALS),
    confirmations: payment.confirmations,
    confirmMs,
    requestMs,
    rpcFetch: createEgress({ ...egress, configuredUrl: network.rpcUrl, timeoutMs: requestMs, logger }),
    // A paid endpoint settles on the chain before it answers.
    webFetch: createEgress({ ...egress, timeoutMs: confirmMs, maxBytes: MAX_PAID_ANSWER_BYTES, logger }),
    x402: { maxAmount: toUnits(payment.x402.maxAmount), allowHosts: payment.x402.allowHosts },
    logger: logger.child({ family: name }),
  });
  const text = `payments move real money on this server, on ${network.title}`;
  const realMoney: NodeFinding = { code: 'real-money', subject: name, state: 'warn', text };
  payments.start();
  return {
    name,
    state: 'on',
    tools: payments.tools,
    findings: payment.network === 'base' ? [realMoney] : [],
    note: network.title,
    close: () => payments.close(),
  };
}
