import { z } from 'zod';


/** An argument of a call that names a path, as it was given. */
export interface PathArgument {
  readonly name: string;
  readonly value: string;
}

const PATH_MAX_LENGTH = 4096;

const PATH = z
  .string()
  .min(1)
  .max(PATH_MAX_LENGTH)
  .regex(/^[^\0]*$/, 'must not hold a NUL character');

export function pathField(description: string): z.ZodString {
  return PATH.describe(`${description}, relative to the workspace`);
}

export function pathArgument(value: string): PathArgument {
  return { name: 'path', value };
}
