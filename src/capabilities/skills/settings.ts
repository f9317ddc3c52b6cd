import { z } from 'zod';
import { HOME_MARK, flag, group, path } from '../../core/fields.js';

const skillsTools = group('Skills: instructions for particular tasks, each a folder with a SKILL.md.', {
  enabled: flag(true, 'Offer the skills and the tools that manage them.'),
  folders: z
    .array(path())
    .default([`${HOME_MARK}/skills`])
    .describe('Folders with skills for all users. Each skill is a subfolder with a SKILL.md.'),
  workspace: flag(
    true,
    'Also use the skills in the folder `skills` of the workspace. Agents can write there.',
  ),
});

export const SKILL_SETTINGS = { 'tools.skills': skillsTools };
