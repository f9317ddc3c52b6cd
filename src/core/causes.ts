const MOST_CAUSES = 20;

/**
 * An error, what caused it, and so on, the outermost first; the parts of an aggregate too, at most about 20 in all.
 * Libraries throw more than `Error`s: whatever is not an object stands alone.
 */
export function causesOf(error: unknown): readonly unknown[] {
  const causes: unknown[] = [error];
  for (const cause of causes) {
    if (!isObject(cause) || causes.length > MOST_CAUSES) continue;
    if (cause.cause !== undefined) causes.push(cause.cause);
    if (Array.isArray(cause.errors)) causes.push(...(cause.errors as unknown[]));
  }
  return causes;
}

/** The code of an error that the system or a library threw ("ENOENT"); undefined when it has none. */
export function codeOf(error: unknown): string | undefined {
  return isObject(error) && typeof error.code === 'string' ? error.code : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
