import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../support/free-port.js';
import { FOLDER, PEERS } from './framework.js';
import { Lines } from './line-peer.js';
import type { Recipe } from './recipes.js';

const GUIDE = readFileSync('docs/guides/agents-of-other-frameworks.md', 'utf8');
const PINNED = readFileSync('.ci/frameworks', 'utf8');
const OPERATOR = 'http://127.0.0.1:4100/agents/operator';
/** The command that runs the programs of a language, and the ending of their files. */
const LANGUAGES = {
  python: { command: path.join('bin', 'python'), ending: 'py' },
  js: { command: process.execPath, ending: 'mjs' },
} as const;

/** The environment and the folder of a program. */
interface Place {
  readonly env?: object;
  readonly cwd?: string;
}

export interface ServedAgent {
  readonly url: string;
  stop(): Promise<void>;
}

/** The programs of one recipe, exactly as in the guide, with the module that stands for the reader's own. */
export class RecipePrograms {
  readonly version: string;
  readonly #recipe: Recipe;
  readonly #environment: string;
  readonly #section: string;
  readonly #programs: readonly string[];
  readonly #ending: string;
  #folder = '';

  constructor(recipe: Recipe) {
    const { language = 'python' } = recipe;
    this.#recipe = recipe;
    this.#environment = path.join(FOLDER ?? '', recipe.folder);
    this.#section = GUIDE.split(`\n## ${recipe.name}\n`)[1]!.split('\n## ')[0]!;
    const programs = this.#section.matchAll(new RegExp(`\`\`\`${language}\\n([^]*?)\\n\`\`\``, 'g'));
    this.#programs = [...programs].map(([, code]) => code!);
    this.#ending = LANGUAGES[language].ending;
    this.version = new RegExp(`${recipe.package}(?:\\[[^\\]]*\\])?(?:==|@)([\\w.]+)`).exec(PINNED)?.[1] ?? '';
  }

  /** Whether `.ci/frameworks FOLDER all` has installed what the recipe needs. */
  get areInstalled(): boolean {
    return (
      existsSync(path.join(FOLDER ?? '', 'all')) && existsSync(path.join(this.#environment, 'installed'))
    );
  }

  async open(): Promise<void> {
    await mkdir(path.join(this.#environment, 'runs'), { recursive: true });
    this.#folder = await mkdtemp(path.join(this.#environment, 'runs', 'run-'));
    const ours = path.join(PEERS, 'recipes');
    await copyFile(path.join(ours, `${this.#recipe.own}.${this.#ending}`), this.#in('my_agent'));
    await copyFile(path.join(ours, `lines.${this.#ending}`), this.#in('lines'));
  }

  close(): Promise<void> {
    return rm(this.#folder, { recursive: true, force: true });
  }

  /** Starts the reader's agent behind its framework's server. */
  async serve(): Promise<ServedAgent> {
    const { at = '', card = `${at}/.well-known/agent-card.json`, serve } = this.#recipe;
    const port = await freePort();
    const origin = `http://127.0.0.1:${port}`;
    const [json] = /(?<=```json\n).*(?=\n)/.exec(this.#section) ?? ['{}'];
    await writeFile(path.join(this.#folder, 'langgraph.json'), json);
    await writeFile(this.#in('served'), this.#programs[0]!.replaceAll('8001', String(port)));
    const [command, ...args] = serve ? [...serve, String(port)] : [];
    const served = command
      ? this.#start(path.join('bin', command), args)
      : this.#run(path.basename(this.#in('served')));
    const complaints = text(served.stderr!);
    served.stdout!.resume();
    while (!(await isThere(`${origin}${card}`))) {
      if (served.exitCode !== null) throw new Error(`the program ended: ${await complaints}`);
      await delay(200);
    }
    return {
      url: `${origin}${at}`,
      stop: async () => {
        const closed = once(served, 'close');
        served.kill('SIGKILL');
        await closed;
      },
    };
  }

  /** Starts the program of the reader, whose agent uses our agent at this address. */
  async use(url: string, token: string): Promise<Lines> {
    const place = await mkdtemp(path.join(this.#folder, 'used-'));
    for (const name of ['my_agent', 'lines'])
      await copyFile(this.#in(name), path.join(place, `${name}.${this.#ending}`));
    const code = this.#programs.at(-1)!.replaceAll(OPERATOR, url);
    await writeFile(path.join(place, `used.${this.#ending}`), code);
    return new Lines(this.#run(`my_agent.${this.#ending}`, { env: { LANGO_TOKEN: token }, cwd: place }));
  }

  #in(name: string): string {
    return path.join(this.#folder, `${name}.${this.#ending}`);
  }

  #run(program: string, place?: Place): ChildProcess {
    return this.#start(LANGUAGES[this.#recipe.language ?? 'python'].command, [program], place);
  }

  #start(
    command: string,
    args: readonly string[],
    { env = {}, cwd = this.#folder }: Place = {},
  ): ChildProcess {
    return spawn(path.resolve(this.#environment, command), args, {
      cwd,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, OTEL_SDK_DISABLED: 'true', CREWAI_DISABLE_TELEMETRY: 'true', ...env },
    });
  }
}

function isThere(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );
}
