export const TERMINAL = ['completed', 'failed', 'canceled', 'rejected'] as const;
/** A2A 1.0 section 4.1.3, in the words the protocol uses. */
export const TASK_STATES = ['submitted', 'working', 'input-required', 'auth-required', ...TERMINAL] as const;
