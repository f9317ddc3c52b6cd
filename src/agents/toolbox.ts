import type { Scope } from '../core/task.js';
import type { Tool, ToolSource } from '../core/tool.js';
import type { AgentFunction } from './agent-function.js';
import { skillsOf } from './capabilities.js';
import type { SearchableFunctions } from './function-search.js';
import type { ToolRules } from './tool-work.js';
import { toolFunction } from './tool-function.js';

/** The tools of one agent. */
interface OwnTools {
  /** The tools that do not change while the server runs. */
  readonly tools: readonly Tool[];
  /** The sources of tools that come and go. The toolbox ignores sources whose kind of tool the agent does not own. */
  readonly sources: readonly ToolSource[];
  /** Whether the agent owns a tool of this name. */
  readonly owns: (tool: Pick<Tool, 'name'>) => boolean;
}

/** The rules for the tools of all agents of a node. */
export interface ToolboxOptions extends ToolRules {
  /** The tools that are described in each request, however many there are. Default: none. */
  readonly shipped?: ReadonlySet<Tool> | undefined;
  /** The most other tools that each request describes. With more, they are found by a search. Default: no limit. */
  readonly describedTools?: number | undefined;
}

/** The tools of one agent. A tool of a source may belong to one owner, and only that owner gets it. */
export class Toolbox {
  readonly #own: OwnTools;
  readonly #options: ToolboxOptions;
  readonly #fixed: readonly AgentFunction[];
  readonly #names: ReadonlySet<string>;
  readonly #sources: readonly ToolSource[];
  readonly #made = new WeakMap<Tool, AgentFunction>();

  constructor(own: OwnTools, options: ToolboxOptions) {
    this.#own = own;
    this.#options = options;
    this.#fixed = own.tools.map((tool) => toolFunction(tool, options));
    this.#sources = own.sources.filter(({ kind }) => own.owns(kind));
    this.#names = new Set(own.tools.map(({ name }) => name));
  }

  async refresh(scope: Scope): Promise<void> {
    await Promise.all(this.#sources.map((source) => source.refresh(scope)));
  }

  /** Without a scope: the tools that all owners have. */
  tools(scope?: Scope): readonly Tool[] {
    return [...this.#own.tools, ...this.#sourceTools(scope)];
  }

  functions(scope: Scope): SearchableFunctions {
    const { shipped, describedTools: most = Infinity } = this.#options;
    const isShipped = (_: AgentFunction, at: number) => shipped?.has(this.#own.tools[at]!) ?? false;
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
    return this.#sources
      .flatMap((source) => source.list(scope))
      .filter((tool) => this.#own.owns(tool) && !this.#names.has(tool.name));
  }

  #toFunction(tool: Tool): AgentFunction {
    const known = this.#made.get(tool) ?? toolFunction(tool, this.#options);
    this.#made.set(tool, known);
    return known;
  }
}
