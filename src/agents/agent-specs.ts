import type { Roster } from '../core/roster.js';
import { CLASSIC_ROSTER } from './classic-roster.js';
import { STANDARD_ROSTER } from './standard-roster.js';

/** The shipped rosters by the names the configuration knows them by. */
export const agentSpecs: Readonly<Record<'standard' | 'classic', Roster>> = {
  standard: STANDARD_ROSTER,
  classic: CLASSIC_ROSTER,
};

/** `roster` with `own` before it: their prefixes are matched first, and each takes the place of one of its name. */
export function extendRoster(roster: keyof typeof agentSpecs | Roster, own: Roster): Roster {
  const specs = typeof roster === 'string' ? agentSpecs[roster] : roster;
  const names = new Set(own.map(({ name }) => name));
  return [...own, ...specs.filter(({ name }) => !names.has(name))];
}
