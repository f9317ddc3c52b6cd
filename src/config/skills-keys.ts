import { z } from 'zod';
import { HOME_MARK, path } from './fields.js';

export const skillsTools = z
  .strictObject({
    enabled: z.boolean().default(true).describe('Offer skills, and the tools that keep them.'),
    folders: z
      .array(path())
      .default([`${HOME_MARK}/skills`])
      .describe(
        'Folders of skills that everybody may use: each holds a folder with a SKILL.md for each skill.',
      ),
    workspace: z
      .boolean()
      .default(true)
      .describe('Also take the skills in the folder `skills` of the workspace, where agents may write.'),
  })
  .prefault({})
  .describe('Skills: ways of doing something, as folders with a SKILL.md.');
