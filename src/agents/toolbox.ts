import type { Scope } from '../core/task.js';
import type { Tool, ToolSource } from '../core/tool.js';
import type { AgentFunction } from './agent-function.js';
import { skillsOf } from './capabilities.js';
import type { ToolRules } from './tool-work.js';
import { toolFunction } from './tool-function.js';

export interface ToolboxOptions {
  /** The tools that do not change while the server runs. */
  readonly tools: readonly Tool[];
  /** The source of tools that come and go. */
  readonly source: ToolSource | undefined;
  /** Whether the agent owns a tool of this name. */
  readonly owns: (tool: Pick<Tool, 'name'>) => boolean;
  readonly rules: ToolRules;
}

/** The tools of one agent. Tools from `source` may belong to one owner and are offered to that owner alone. */
export class Toolbox {
  readonly #options: ToolboxOptions;
  readonly #fixed: readonly AgentFunction[];
  readonly #names: ReadonlySet<string>;
  readonly #made = new WeakMap<Tool, AgentFunction>();

  constructor(options: ToolboxOptions) {
    this.#options = options;
    this.#fixed = options.tools.map((tool) => toolFunction(tool, options.rules));
    this.#names = new Set(options.tools.map(({ name }) => name));
  }

  async refresh(scope: Scope): Promise<void> {
    await this.#options.source?.refresh(scope);
  }

  /** Without a scope: the tools that all owners have. */
  tools(scope?: Scope): readonly Tool[] {
    return [...this.#options.tools, ...this.#further(scope)];
  }

  functions(scope: Scope): readonly AgentFunction[] {
    return [...this.#fixed, ...this.#further(scope).map((tool) => this.#toFunction(tool))];
  }

  /** The kinds of work that the agent can do for any owner, also with tools that an owner may add later. */
  abilities(): readonly Pick<Tool, 'name'>[] {
    const { source, owns } = this.#options;
    return [...this.tools(), ...(source && owns(source.kind) ? [source.kind] : [])];
  }

  /** The skills of the public card. */
  skills(): ReturnType<typeof skillsOf> {
    return skillsOf(this.abilities());
  }

  /** The tools of the source, without those that have the name of a fixed tool. */
  #further(scope: Scope | undefined): readonly Tool[] {
    const { source, owns } = this.#options;
    return (source?.list(scope) ?? []).filter((tool) => owns(tool) && !this.#names.has(tool.name));
  }

  #toFunction(tool: Tool): AgentFunction {
    const known = this.#made.get(tool) ?? toolFunction(tool, this.#options.rules);
    this.#made.set(tool, known);
    return known;
  }
}
