import type { Scope } from '../core/task.js';
import type { Tool, ToolSource } from '../core/tool.js';
import type { AgentFunction } from './agent-function.js';
import { skillsOf } from './capabilities.js';
import type { SearchableFunctions } from './function-search.js';
import type { ToolRules } from './tool-work.js';
import { toolFunction } from './tool-function.js';

export interface ToolboxOptions {
  /** The tools that do not change while the server runs. */
  readonly tools: readonly Tool[];
  /** The sources of tools that come and go. The toolbox ignores sources whose kind of tool the agent does not own. */
  readonly sources: readonly ToolSource[];
  /** Whether the agent owns a tool of this name. */
  readonly owns: (tool: Pick<Tool, 'name'>) => boolean;
  readonly rules: ToolRules;
  /** The tools that are described in each request, however many there are. Default: none. */
  readonly shipped?: ReadonlySet<Tool> | undefined;
  /** The most other tools that each request describes. With more, they are found by a search. Default: no limit. */
  readonly describedTools?: number | undefined;
}

/** The tools of one agent. A tool of a source may belong to one owner, and only that owner gets it. */
export class Toolbox {
  readonly #options: ToolboxOptions;
  readonly #fixed: readonly AgentFunction[];
  readonly #names: ReadonlySet<string>;
  readonly #sources: readonly ToolSource[];
  readonly #made = new WeakMap<Tool, AgentFunction>();

  constructor(options: ToolboxOptions) {
    this.#options = options;
    this.#fixed = options.tools.map((tool) => toolFunction(tool, options.rules));
    this.#sources = options.sources.filter(({ kind }) => options.owns(kind));
    this.#names = new Set(options.tools.map(({ name }) => name));
  }

  async refresh(scope: Scope): Promise<void> {
    await Promise.all(this.#sources.map((source) => source.refresh(scope)));
  }

  /** Without a scope: the tools that all owners have. */
  tools(scope?: Scope): readonly Tool[] {
    return [...this.#options.tools, ...this.#sourceTools(scope)];
  }

  functions(scope: Scope): SearchableFunctions {
    const { tools, shipped, describedTools: most = Infinity } = this.#options;
    const isShipped = (_: AgentFunction, at: number) => shipped?.has(tools[at]!) ?? false;
    const others = this.#fixed.filter((one, at) => !isShipped(one, at));
    return {
      always: this.#fixed.filter(isShipped),
      searched: [...others, ...this.#sourceTools(scope).map((tool) => this.#toFunction(tool))],
      most,
    };
  }

  /** The kinds of work that the agent can do for any owner, also with tools that an owner may add later. */
  abilities(): readonly Pick<Tool, 'name'>[] {
    return [...this.tools(), ...this.#sources.map(({ kind }) => kind)];
  }

  /** The skills of the public card. */
  skills(): ReturnType<typeof skillsOf> {
    return skillsOf(this.abilities());
  }

  /** The tools of the sources, without those that have the name of a fixed tool. */
  #sourceTools(scope: Scope | undefined): readonly Tool[] {
    const { owns } = this.#options;
    return this.#sources
      .flatMap((source) => source.list(scope))
      .filter((tool) => owns(tool) && !this.#names.has(tool.name));
  }

  #toFunction(tool: Tool): AgentFunction {
    const known = this.#made.get(tool) ?? toolFunction(tool, this.#options.rules);
    this.#made.set(tool, known);
    return known;
  }
}
