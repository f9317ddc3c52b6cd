/** The provider's id; also marks what it keeps for itself in a conversation. */
export const PROVIDER_ID = 'offline';

/** The functions of the agent loop that are no tools: all that this model knows without an example. */
export const TRANSFER = 'transfer_to_agent';
export const DECLINE = 'decline_request';
export const ASK = 'ask_user';
