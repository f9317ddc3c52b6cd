import type { JsonObject } from '../../core/json.js';

/** A sentence, the tool that it asks for, and arguments besides the placeholders of the sentence. */
export type TableRow = readonly [sentence: string, tool: string, arguments?: JsonObject];

/** The delegation function of the agent loop. */
export const TRANSFER = 'transfer_to_agent';
/** Stands for no tool: the planner writes an outline itself. */
export const PLAN = 'plan';

const SECRET = '{{secret:{name}}}';
const HEADER = { headers: { '{header}': SECRET } };
const X402_HEADER = ['payment_x402_fetch', HEADER] as const;
const DEPENDS_ON = { predicate: 'depends on' };

/**
 * Every sentence that the offline model understands. `{name}` stands for one word or one quotation, `{name...}` for any
 * number of words; a sentence holds one of the latter at most. A `?` at the end may be left out. A placeholder is the
 * argument of its name, unless the tool or the other arguments use it. When several sentences fit, the one with the most
 * fixed words counts.
 */
export const TABLE: readonly TableRow[] = [
  // Files and commands.
  ['list the files', 'fs_list'],
  ['which files are there?', 'fs_list'],
  ['ls', 'fs_list'],
  ['list the files in {path}', 'fs_list'],
  ['list all files', 'fs_list', { recursive: true }],
  ['read {path}', 'fs_read'],
  ['read the file {path}', 'fs_read'],
  ['show the file {path}', 'fs_read'],
  ['what is in the file {path}?', 'fs_read'],
  ['write {content...} to {path}', 'fs_write'],
  ['write {content...} into {path}', 'fs_write'],
  ['create a file {path} with {content...}', 'fs_write'],
  ['append {content...} to {path}', 'fs_write', { mode: 'append' }],
  ['replace {oldText} with {newText} in {path}', 'fs_edit'],
  ['search for {pattern...}', 'fs_search'],
  ['search for {pattern...} in {path}', 'fs_search'],
  ['how big is the file {path}?', 'fs_list'],
  ['does the file {path} exist?', 'fs_list'],
  ['create a folder {path}', 'fs_write', { mode: 'folder' }],
  ['move {from} to {to}', 'fs_move'],
  ['rename {from} to {to}', 'fs_move'],
  ['delete {path}', 'fs_delete'],
  ['delete the file {path}', 'fs_delete'],
  ['rm {path}', 'fs_delete'],
  ['delete the folder {path} with everything in it', 'fs_delete', { recursive: true }],
  ['run {command...}', 'exec'],
  ['run {command...} with the secret {name} as {variable}', 'exec', { env: { '{variable}': SECRET } }],
  ['start {command...} in the background', 'exec_background', { action: 'start' }],
  ['show the running processes', 'exec_background', { action: 'status' }],
  ['is process {id} still running?', 'exec_background', { action: 'status' }],
  ['show the output of process {id}', 'exec_background', { action: 'output' }],
  ['stop process {id}', 'exec_background', { action: 'stop' }],
  // The web.
  ['request {url}', 'http_request'],
  ['request {url} with the secret {name} as the header {header}', 'http_request', HEADER],
  ['open {url}', 'browser_navigate'],
  ['take a screenshot', 'browser_screenshot'],
  ['take a screenshot of the whole page', 'browser_screenshot', { fullPage: true }],
  ['read the page', 'browser_extract', { mode: 'text' }],
  ['read the article', 'browser_extract', { mode: 'article' }],
  ['list the links of the page', 'browser_extract', { mode: 'links' }],
  ['what can be clicked on the page?', 'browser_observe'],
  ['click {ref}', 'browser_act', { action: 'click' }],
  ['type {value...} into {ref}', 'browser_act', { action: 'type' }],
  ['search with the browser for {query...}', 'browser_search'],
  ['close the browser', 'browser_close'],
  // Secrets, keys and payments.
  ['store the secret {value} as {name}', 'secrets_store'],
  ['store the secret {value} as {name} for commands', 'secrets_store', { for: ['exec'] }],
  ['which secrets are there?', 'secrets_list'],
  ['show the secret {name}', 'secrets_get'],
  ['delete the secret {name}', 'secrets_delete'],
  ['hash {text...}', 'crypto_hash'],
  ['hash {text...} with {algorithm}', 'crypto_hash'],
  ['create a key named {name}', 'crypto_create_key'],
  ['create a {algorithm} key named {name}', 'crypto_create_key'],
  ['create an encryption key named {name}', 'crypto_create_key', { algorithm: 'aes256' }],
  ['which keys are there?', 'crypto_keys'],
  ['sign {text...} with the key {key}', 'crypto_sign'],
  ['sign {text...} with the key {key} as a jws', 'crypto_sign', { format: 'jws' }],
  ['verify the signature {signature} of {text...} with the key {key}', 'crypto_verify'],
  ['encrypt {text...} with the key {key}', 'crypto_encrypt'],
  ['decrypt {ciphertext} with the key {key}', 'crypto_decrypt'],
  ['decrypt {ciphertext} with the key {key} and save it as {saveAs}', 'crypto_decrypt'],
  ['create a wallet', 'payment_create_wallet'],
  ['what is my wallet address?', 'payment_wallet_info'],
  ['what is my USDC balance?', 'payment_balance'],
  ['what are my payment limits?', 'payment_limits'],
  ['show my payment history', 'payment_history'],
  ['send {amount} USDC to {to} for {purpose...}', 'payment_send'],
  ['what does {url} cost, at most {maxAmount} USDC?', 'payment_x402_fetch'],
  ['fetch {url} for at most {maxAmount} USDC', 'payment_x402_fetch'],
  ['fetch {url} and pay up to {maxAmount} USDC to {payTo}', 'payment_x402_fetch'],
  ['fetch {url} for at most {maxAmount} USDC with the secret {name} as the header {header}', ...X402_HEADER],
  // Knowledge and skills.
  ['save knowledge {key}: {content...}', 'save_knowledge'],
  ['what do you know about {query...}?', 'search_knowledge'],
  ['search the knowledge for {query...}', 'search_knowledge'],
  ['save learning {trigger}: {fix...}', 'save_learning'],
  ['what did you learn about {query...}?', 'search_learnings'],
  ['search the web for {query...}', 'search_web'],
  ['retrieve passages about {query...}', 'rag_retrieve'],
  ['add to the graph that {subject} depends on {object...}', 'graph_add', DEPENDS_ON],
  ['what depends on {object...}?', 'graph_query', DEPENDS_ON],
  ['what is connected to {start...}?', 'graph_traverse'],
  ['remove from the graph that {subject} depends on {object...}', 'graph_remove', DEPENDS_ON],
  ['which skills are there?', 'list_skills'],
  ['create a skill named {name}: {instructions...}', 'create_skill'],
  ['import the skill {path}', 'import_skill'],
  ['use the skill {name}', 'skill_{name}'],
  // Memory.
  ['remember that {fact...}', 'memory_store'],
  ['remember: {fact...}', 'memory_store'],
  ['what do you remember about {query...}?', 'memory_recall'],
  ['recall {query...}', 'memory_recall'],
  ['forget that {fact...}', 'memory_forget'],
  ['forget what you remember about {query...}', 'memory_forget'],
  ['record the observation that {observation...}', 'observe_record'],
  ['list your observations', 'memory_list_observations'],
  ['what have you observed?', 'memory_list_observations'],
  ['reflect on what you observed', 'reflect_summarize'],
  ['list your reflections', 'memory_list_reflections'],
  // Every agent and every tool.
  ['make a plan for {goal...}', PLAN],
  ['ask {agent_name} to {request...}', TRANSFER],
  ['call {tool} with {arguments...}', '{tool}'],
  ['call {tool}', '{tool}'],
];
