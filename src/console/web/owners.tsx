import { owner, Refusal, viewed, type Owner } from './api.js';
import { Choice, useLoaded } from './page.js';

const MOST_OWNERS = 1_000;

export const wordsOf = ({ tenant, owner: name }: Owner) => (tenant === '' ? name : `${name} of ${tenant}`);

/** The other owners on this server; none for people who do not operate it. */
export async function otherOwners(): Promise<readonly Owner[]> {
  const all: Owner[] = [];
  try {
    for (let isLast = false; !isLast && all.length < MOST_OWNERS;) {
      const after = new URLSearchParams({ ...all.at(-1) });
      const page = await owner<{ owners: readonly Owner[]; isLast: boolean }>(`owners?${after}`);
      all.push(...page.owners);
      isLast = page.isLast;
    }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
  }
  return all;
}

/** Lets an operator choose whose data the pages show. */
export function OwnerChoice() {
  const { value = [] } = useLoaded(otherOwners, []);
  if (value.length === 0) return null;
  const chosen = value.findIndex(
    (one) => one.owner === viewed.value?.owner && one.tenant === viewed.value.tenant,
  );
  return (
    <Choice
      label="Data of"
      value={String(chosen)}
      names={[-1, ...value.keys()].map(String)}
      wordsOf={(index) => (index === '-1' ? 'yourself' : wordsOf(value[Number(index)]!))}
      onChoose={(index) => (viewed.value = value[Number(index)])}
    />
  );
}

export function Viewing() {
  if (!viewed.value) return null;
  return (
    <p class="offline" role="status">
      You look at the data of {wordsOf(viewed.value)} and can change nothing. The audit log keeps what you
      read.
    </p>
  );
}
