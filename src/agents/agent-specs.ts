import type { Roster } from '../core/roster.js';
import { CLASSIC_ROSTER } from './classic-roster.js';
import { STANDARD_ROSTER } from './standard-roster.js';

/** The shipped rosters by the names the configuration knows them by. */
export const agentSpecs: Readonly<Record<'standard' | 'classic', Roster>> = {
  standard: STANDARD_ROSTER,
  classic: CLASSIC_ROSTER,
};
