/**
 * What happens to a call whose result is not known because the process died in between:
 * `pure` runs again; `keyed` runs again with the same key, which the target knows to be a repeat;
 * `queryable` is asked what happened (`settle`); `unsafe` is never repeated without a person's word.
 */
export type EffectClass = 'pure' | 'keyed' | 'queryable' | 'unsafe';
