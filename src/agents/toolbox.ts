import type { Scope } from '../core/task.js';
import type { Tool, ToolSource } from '../core/tool.js';
import type { AgentFunction } from './agent-function.js';
import { skillsOf } from './capabilities.js';
import type { ToolRules } from './tool-work.js';
import { toolFunction } from './tool-function.js';

export interface ToolboxOptions {
  /** Always there. */
  readonly tools: readonly Tool[];
  /** Where further ones come from. */
  readonly source: ToolSource | undefined;
  /** Whether the agent takes one of these. */
  readonly owns: (tool: Pick<Tool, 'name'>) => boolean;
  readonly rules: ToolRules;
}

/** All that one agent can use. What an owner keeps is there for that owner alone. */
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

  /** Without a scope: those that everybody has. */
  tools(scope?: Scope): readonly Tool[] {
    return [...this.#options.tools, ...this.#further(scope)];
  }

  functions(scope: Scope): readonly AgentFunction[] {
    return [...this.#fixed, ...this.#further(scope).map((tool) => this.#toFunction(tool))];
  }

  /** What it is good for, for everybody: also what an owner may keep later. */
  abilities(): readonly Pick<Tool, 'name' | 'examples'>[] {
    const { source, owns } = this.#options;
    return [...this.tools(), ...(source && owns(source.kind) ? [source.kind] : [])];
  }

  /** For a card that everybody may read. */
  skills(): ReturnType<typeof skillsOf> {
    return skillsOf(this.abilities());
  }

  /** A fixed tool cannot be taken away by one of the same name. */
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
