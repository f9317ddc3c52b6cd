import type { Scope } from '../../core/task.js';
import type { Page } from '../../core/page.js';

/** A skill that an owner saved. */
export interface SkillVersion {
  readonly name: string;
  /** Changes each time the skill is saved. */
  readonly version: string;
}

/** A file of a skill. */
export interface SavedSkillFile {
  /** The path inside the skill, separated by slashes. */
  readonly path: string;
  readonly base64: string;
  readonly isExecutable: boolean;
}

/** The skills that owners saved on this node. Those of other owners are absent. */
export interface SavedSkills {
  /** Lists them by name. */
  list(scope: Scope): Promise<readonly SkillVersion[]>;
  /** Reads some files; `after` is the `next` of the page before. Rejects with `not-found`. */
  read(scope: Scope, name: string, after: string): Promise<Page<SavedSkillFile>>;
}
