import { join } from 'node:path';
import { withoutAddressSecrets } from '../config/address-secrets.js';
import { describeConfig } from '../config/describe.js';
import { kubernetesManifests, type Deployment } from '../config/kubernetes.js';
import { checkConfig, loadConfig, shippedSchema } from '../config/load.js';
import { listKeys, rotateKeys, type KeyInfo } from '../config/node-credentials.js';
import { lineOfProblem } from '../config/problems.js';
import { configSchema } from '../config/reference.js';
import { loadConfigOf, overridesOf, type Call, type FolderFlags } from './connection.js';
import { EXIT } from '../terminal/exit.js';
import { safeLine } from '../terminal/safe-text.js';
import type { Report } from '../terminal/terminal.js';

type FolderCall = Call<FolderFlags>;

/** `lango config check`: lists all that is wrong with the configuration. */
export async function checkFile({ flags, env }: FolderCall): Promise<Report> {
  // Loaded on use: the other commands need no part of a server.
  const { startFindings } = await import('../app.js');
  const options = { env, overrides: overridesOf(flags) };
  const problems = await checkConfig(options, startFindings);
  if (problems.length > 0)
    return {
      json: { ok: false, problems },
      lines: problems.map((one) => safeLine(lineOfProblem(one))),
      exitCode: EXIT.failure,
    };
  const { home, file = null } = (await loadConfig({ ...options, purpose: 'show' })).config;
  const none = `There is no ${join(home, 'config.yaml')}: all keys have their defaults.`;
  const line = file === null ? none : `${file} is valid.`;
  return { json: { ok: true, file, problems }, lines: [safeLine(line)] };
}

/** `lango config show`: lists each key with its value and the origin of it, without secrets. Keys with errors have no value. */
export async function showConfig(call: FolderCall): Promise<Report> {
  const options = { env: call.env, overrides: overridesOf(call.flags) };
  const problems = await checkConfig(options);
  const loaded = await loadConfig({ ...options, purpose: problems.length === 0 ? 'serve' : 'show' });
  const { home, file = null } = loaded.config;
  const wrong = new Set(problems.map(({ key }) => key));
  const keys = describeConfig(loaded).map((one) =>
    wrong.has(one.key)
      ? { ...one, value: undefined, origin: 'error' as const }
      : { ...one, value: withoutAddressSecrets(one.value) },
  );
  const { paint } = call.terminal;
  return {
    json: {
      ...{ home, file, keys: keys.map((one) => ({ ...one, value: one.value ?? null })) },
      ...(problems.length === 0 ? {} : { problems }),
    },
    lines: [
      paint.dim(`data folder ${home}, file ${file ?? 'none'}`),
      ...keys.map(({ key, value, origin }) => {
        const shown = value === undefined ? '-' : safeLine(JSON.stringify(value));
        return `${key} = ${shown}${origin === 'default' ? '' : paint.dim(`  (${origin})`)}`;
      }),
    ],
    notes: problems.map((one) => safeLine(lineOfProblem(one))),
    exitCode: problems.length === 0 ? EXIT.ok : EXIT.failure,
  };
}

/** `lango config schema`: prints the JSON Schema of the configuration file, for editors. */
export async function showSchema({ terminal }: Call<object>): Promise<number> {
  terminal.print(JSON.stringify(configSchema(shippedSchema()), null, 2));
  return EXIT.ok;
}

/** `lango deploy kubernetes`: prints the manifests of a shape, with the configuration file. */
export async function deployKubernetes(call: Call<FolderFlags & Deployment>): Promise<number> {
  call.terminal.print(await kubernetesManifests(await loadConfigOf(call, 'show'), call.flags));
  return EXIT.ok;
}

/** `lango keys list`: lists the public keys of this node. */
export async function showKeys(call: FolderCall): Promise<Report> {
  return reportOn(await listKeys((await loadConfigOf(call)).config.home));
}

/** `lango keys rotate`: signs with a new key from now on. Signatures of the previous key can be checked for 30 days. */
export async function rotate(call: FolderCall): Promise<Report> {
  return reportOn(await rotateKeys((await loadConfigOf(call)).config.home));
}

function reportOn(keys: readonly KeyInfo[]): Report {
  const none = 'No keys yet: they are made when the server starts.';
  return { json: { keys }, lines: keys.length === 0 ? [none] : keys.map(lineOf) };
}

function lineOf({ kid, createdAt, retiredAt }: KeyInfo): string {
  const state = retiredAt === undefined ? 'signs now' : `rotated out ${new Date(retiredAt).toISOString()}`;
  return `${kid}  ${state}, made ${new Date(createdAt).toISOString()}`;
}
