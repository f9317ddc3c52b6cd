/** Returns a function that makes a value of a list, again only when the members of the list are not the same ones. */
export function oncePerList<Member, Value>(make: (list: readonly Member[]) => Value) {
  let known: { readonly list: readonly Member[]; readonly value: Value } | undefined;
  return (list: readonly Member[]): Value => {
    const isKnown =
      known?.list.length === list.length && known.list.every((one, index) => one === list[index]);
    if (!isKnown) known = { list: [...list], value: make(list) };
    return known!.value;
  };
}
