import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { FOLDER } from './framework.js';
import { DO_NOT_APPLY } from './mcp-scenarios.js';

/** The versions of MCP for which the conformance tool has requirements. */
export const REVISIONS = ['2025-11-25', '2026-07-28'] as const;
export type Revision = (typeof REVISIONS)[number];
export type Role = keyof typeof DO_NOT_APPLY;

/** The result of one check in a scenario. */
interface Check {
  readonly id: string;
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  readonly errorMessage?: string;
}

/** The result of a scenario. */
export interface Verdict {
  readonly scenario: string;
  /** Whether a check of the scenario's own subject succeeded. */
  readonly works: boolean;
  /** The failed checks, as `SCENARIO:CHECK` each, or `SCENARIO` when it checked nothing. */
  readonly failed: readonly string[];
  readonly messages: readonly string[];
}

/**
 * Runs all requirements of a revision on a server or a client, including the optional ones, with the command line of
 * the tool.
 */
export async function runConformance(
  role: Role,
  revision: Revision,
  ...args: readonly string[]
): Promise<readonly Verdict[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'lango-conformance-'));
  const tool = path.join(
    FOLDER ?? '',
    'mcp-conformance/node_modules/@modelcontextprotocol/conformance/dist/index.js',
  );
  try {
    const child = spawn(process.execPath, [tool, role, '--requirements', revision, '-o', folder, ...args]);
    const said = Promise.all([text(child.stdout), text(child.stderr)]);
    await once(child, 'close');
    const names = await readdir(folder, { recursive: true });
    const files = names.filter((name) => name.endsWith('checks.json')).sort();
    if (files.length === 0) throw new Error(`the tool gave no results: ${(await said).join('\n')}`);
    return await Promise.all(
      files.map(async (file) => {
        const name = path.dirname(file).replace(/-\d{4}-\d{2}-\d{2}T[\dZ-]+$/, '');
        const scenario = role === 'server' ? name.replace('server-', '') : name;
        return verdictOf(scenario, JSON.parse(await readFile(path.join(folder, file), 'utf8')) as Check[]);
      }),
    );
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Each scenario also checks the form of the messages, which says nothing about the scenario's own subject. */
const FORM = 'wire-schema-valid';

function verdictOf(scenario: string, checks: readonly Check[]): Verdict {
  const bad = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
  const hasChecked = checks.some(({ id, status }) => status === 'SUCCESS' && id !== FORM);
  const failed = bad.map(({ id }) => `${scenario}:${id}`);
  return {
    scenario,
    works: hasChecked,
    failed: failed.length > 0 || hasChecked ? failed : [scenario],
    messages: bad.map(({ id, errorMessage }) => `${id}: ${errorMessage}`),
  };
}

interface Excuse {
  readonly why: string;
  /** Whether the scenario as a whole does not apply, and not only this check. */
  readonly isWhole: boolean;
}

/** The reason why a failure of a revision is accepted; undefined when it is a fault. */
export function excuseFor(failed: string, role: Role, revision: Revision): Excuse | undefined {
  const [scenario = ''] = failed.split(':');
  const whole = [scenario, `${scenario}@${revision}`];
  for (const { why, what } of DO_NOT_APPLY[role]) {
    if (what.some((one) => whole.includes(one))) return { why, isWhole: true };
    if (what.includes(failed)) return { why, isWhole: false };
  }
  return undefined;
}

/** The entries of `DO_NOT_APPLY` that work after all. */
export function staleExcuses(
  verdicts: readonly Verdict[],
  role: Role,
  revision: Revision,
): readonly string[] {
  const failed = verdicts.flatMap((verdict) => verdict.failed);
  const ran = verdicts.map(({ scenario }) => scenario);
  return DO_NOT_APPLY[role]
    .flatMap(({ what }) => what)
    .filter((one) => {
      const [name = '', only = revision] = one.split('@');
      const isHere = only === revision && ran.includes(name.split(':')[0]!);
      return isHere && !failed.some((each) => each === name || each.startsWith(`${name}:`));
    });
}
