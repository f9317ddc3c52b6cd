/** The longest name of a node. */
export const MAX_NODE_NAME = 100;

const ID_CHARACTERS = 8;

/** The words for a node whose name is not known: the beginning of its id. */
export const shortNodeName = (id: string): string =>
  id.length > 2 * ID_CHARACTERS ? `node ${id.slice(0, ID_CHARACTERS)}` : id;
