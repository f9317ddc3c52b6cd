import { z } from 'zod';
import type { OperationTable } from '../../core/operation.js';

/** The version of a skill changes each time the skill is saved. */
const skill = z.object({ name: z.string(), version: z.string() });
/** A file of a skill. Its path is inside the skill, separated by slashes. */
const skillFile = z.object({ path: z.string(), base64: z.base64(), isExecutable: z.boolean() });

export type SkillVersion = z.infer<typeof skill>;
export type SavedSkillFile = z.infer<typeof skillFile>;

/** The operations by which other nodes read the skills that an owner saved, on behalf of the owner. */
export const SKILL_OPERATIONS = {
  /** Lists the skills that the owner saved; without them when their version is the one that the caller has. */
  listSkills: {
    method: 'get',
    path: '/lango/skills',
    right: 'skills',
    query: ['unless'],
    input: z.object({ unless: z.string().optional() }),
    result: z.object({ version: z.string(), skills: z.array(skill).readonly().optional() }),
  },
  /** Reads some files of a skill; `after` is the `next` of the page before. */
  readSkill: {
    method: 'get',
    path: '/lango/skills/:name',
    right: 'skills',
    query: ['after'],
    input: z.object({ name: z.string(), after: z.string().default('') }),
    result: z.object({ files: z.array(skillFile).readonly(), next: z.string().optional() }),
  },
} as const satisfies OperationTable;
