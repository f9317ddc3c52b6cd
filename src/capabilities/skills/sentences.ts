import type { SentenceRow } from '../../core/capability.js';

/** The sentences that the offline model understands. */
export const SKILL_SENTENCES: readonly SentenceRow[] = [
  ['which skills are there?', 'list_skills'],
  ['create a skill named {name}: {instructions...}', 'create_skill'],
  ['import the skill {path}', 'import_skill'],
  ['use the skill {name}', 'skill_{name}'],
];
