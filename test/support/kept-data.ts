import type { TestServer } from './server.js';

/** One page of the caller's stored data of a kind. */
export async function keptData<Item = Readonly<Record<string, unknown>>>(
  server: TestServer,
  kind: string,
): Promise<readonly Item[]> {
  const response = await server.fetch(`/lango/data/${kind}`);
  if (!response.ok) throw new Error(await response.text());
  return ((await response.json()) as { readonly items: readonly Item[] }).items;
}
