/** The recipes of docs/guides/agents-of-other-frameworks.md, and what does not work with each. */

export type RecipeRole = 'as a sub-agent of Lango' | 'with Lango as its sub-agent';

/** A column of the tables of frameworks in docs/reference/interop.md. */
export type RecipeOperation =
  | 'card'
  | 'send'
  | 'stream'
  | 'two at once'
  | 'ask'
  | 'approve'
  | 'follow-up'
  | 'cancel'
  | 'get'
  | 'list'
  | 'file in'
  | 'file out'
  | 'errors'
  | 'unknown task'
  | 'push'
  | 'auth';

type Reasons = Readonly<Partial<Record<RecipeOperation, string>>>;

interface Limits {
  /**
   * The operations that fail by a fault of the framework. Their tests must fail: a test goes red once the framework is
   * fixed.
   */
  readonly faults?: Reasons;
  /** The operations that the framework does not support, with the reason. They are not tested. */
  readonly without?: Reasons;
}

export interface Recipe {
  /** The heading of its section. */
  readonly name: string;
  /** The name of the recipe's environment in `.ci/frameworks`, and its package there. */
  readonly folder: string;
  readonly package: string;
  /** The language of the recipe's programs. Default: Python. */
  readonly language?: 'js';
  /** The program in `peers/recipes` that stands for the reader's own agent and model. */
  readonly own: string;
  /** The response of the recipe's agent to "say hello". */
  readonly answer: string;
  /** The command of the framework's own server, in place of a program. */
  readonly serve?: readonly string[];
  /** The path of the agent on its server. */
  readonly at?: string;
  /** The path of the card on its server. Default: below the agent, at the well-known path. */
  readonly card?: string;
  readonly roles: Readonly<Record<RecipeRole, Limits>>;
}

/** The same reason for several operations. */
function all(why: string, ...operations: readonly RecipeOperation[]): Reasons {
  return Object.fromEntries(operations.map((operation) => [operation, why]));
}

const SDK_ONLY = [
  'card',
  'stream',
  'ask',
  'follow-up',
  'cancel',
  'get',
  'list',
  'file in',
  'file out',
  'push',
] as const;
const OLD = 'Its server speaks A2A 0.3, which has no list.';

export const RECIPES: readonly Recipe[] = [
  {
    name: 'Google ADK',
    folder: 'adk-python',
    package: 'google-adk',
    own: 'adk',
    answer: 'ADK did: say hello',
    roles: {
      'as a sub-agent of Lango': {
        faults: {
          stream:
            'Its executor runs the agent with the default `RunConfig`, whose streaming mode is NONE: the answer comes in ' +
            'one piece.',
        },
      },
      'with Lango as its sub-agent': {
        without: all(
          '`RemoteA2aAgent` reads the card, sends and follows. It has no call that shows the card, and none for cancel, ' +
            'get, list and push.',
          ...(['card', 'cancel', 'get', 'list', 'push'] as const),
        ),
      },
    },
  },
  {
    name: 'Strands',
    folder: 'strands-python',
    package: 'strands-agents',
    own: 'strands',
    answer: 'Strands did: say hello',
    roles: {
      'as a sub-agent of Lango': {
        without: {
          approve: 'Its interrupts ask for a text: see **ask**.',
          list: OLD,
          'file out': 'Its executor writes the texts of an answer only.',
        },
      },
      'with Lango as its sub-agent': {
        without: {
          ...all('`A2AAgent` makes a new task in a new context for each request.', 'ask', 'follow-up'),
          ...all('`A2AAgent` has no call for cancel, get, list and push.', 'cancel', 'get', 'list', 'push'),
          ...all(
            '`A2AAgent` sends and reads texts only (`convert_content_blocks_to_parts`, `_extract_text_parts`).',
            ...(['file in', 'file out'] as const),
          ),
        },
      },
    },
  },
  {
    name: 'Pydantic AI',
    folder: 'pydantic-ai',
    package: 'fasta2a',
    own: 'pydantic',
    answer: 'Pydantic did: say hello',
    roles: {
      'as a sub-agent of Lango': {
        faults: {
          cancel:
            'Its worker does one task at a time, and `AgentWorker.cancel_task` does nothing: the next request waits until ' +
            'the canceled task has run to its end.',
        },
        without: {
          ...all(
            'A task of its worker never waits for input, and its answer has texts and data only.',
            ...(['ask', 'approve', 'file out'] as const),
          ),
          list: 'Its server answers that the list is not supported (`TaskManager.list_tasks`).',
        },
      },
      'with Lango as its sub-agent': {
        without: all(
          'It has no A2A client: the tool of its recipe calls a2a-sdk, whose row is above. (`A2AClient` of fasta2a mixes the ' +
            'methods of 0.3 with the parts of 1.0.)',
          ...SDK_ONLY,
        ),
      },
    },
  },
  {
    name: 'Microsoft Agent Framework',
    folder: 'agent-framework',
    package: 'agent-framework-a2a',
    own: 'msft',
    answer: 'Microsoft did: say hello',
    roles: {
      'as a sub-agent of Lango': {
        faults: {
          'follow-up': '`A2AExecutor` makes a new session for each request, without what was said before.',
          'file in': '`A2AExecutor` gives the agent the text of a message only (`get_user_input`).',
        },
        without: all(
          '`A2AExecutor` leaves out what its agent asks a person (`handle_events`), and completes the task.',
          ...(['ask', 'approve'] as const),
        ),
      },
      'with Lango as its sub-agent': {
        faults: {
          stream:
            'Without a card, `A2AAgent(url=...)` takes the agent for one without streams. With `agent_card=` it streams.',
        },
        without: all(
          '`A2AAgent` has calls to send, stream, poll and subscribe, and no others. With `url=` it reads no card.',
          ...(['card', 'cancel', 'list', 'push'] as const),
        ),
      },
    },
  },
  {
    name: 'CrewAI',
    folder: 'crewai',
    package: 'crewai',
    own: 'crewai',
    answer: 'CrewAI did: say hello',
    roles: {
      'as a sub-agent of Lango': {
        faults: {
          stream: 'Its `execute` sends the answer in one piece, at the end.',
          'follow-up': 'Its `execute` gives the agent nothing of what was said before in the context.',
        },
        without: {
          list: OLD,
          ...all('Its `execute` ends each task, with text or data.', 'ask', 'approve', 'file out'),
          'file in': 'It reads files with the package crewai-files, which is not part of its extra `a2a`.',
        },
      },
      'with Lango as its sub-agent': {
        without: {
          ...all(
            'Its client is part of a task of a crew, which gives the last text: it shows no pieces, no files and no list, and ' +
              'keeps no context for the next task.',
            ...(['stream', 'follow-up', 'list', 'file out'] as const),
          ),
          ...all('The model of its agent answers a question of Lango by itself, never a person.', 'ask'),
          cancel: 'Its client has no call to cancel.',
          'file in': 'It sends files with the package crewai-files, which is not part of its extra `a2a`.',
        },
      },
    },
  },
  {
    name: 'LangGraph',
    folder: 'langgraph',
    package: 'langgraph-api',
    own: 'langgraph',
    answer: 'LangGraph did: say hello',
    serve: ['langgraph', 'dev', '--no-browser', '--no-reload', '--port'],
    at: '/a2a/fe096781-5601-53d2-b2f6-0d3403f7e9ca',
    roles: {
      'as a sub-agent of Lango': {
        faults: { stream: 'Its server sends the answer as one artifact, at the end.' },
        without: { approve: 'Its interrupts ask for a text: see **ask**.' },
      },
      'with Lango as its sub-agent': {
        without: all(
          'It has no A2A client: the tool of its recipe calls a2a-sdk, whose row is above.',
          ...SDK_ONLY,
        ),
      },
    },
  },
  {
    name: 'AG2',
    folder: 'ag2',
    package: 'ag2',
    own: 'ag2',
    answer: 'AG2 did: say hello',
    roles: {
      'as a sub-agent of Lango': {
        faults: {
          'follow-up':
            'Its server keeps nothing of a conversation: only an AG2 client sends what was said before.',
        },
        without: all(
          'Its executor asks only for the results of tools that an AG2 client has, and its answer has texts only.',
          ...(['ask', 'approve', 'file out'] as const),
        ),
      },
      'with Lango as its sub-agent': {
        faults: {
          errors:
            'Its errors for a rejected or failed task name the state, and leave out the text of the task.',
        },
        without: { 'file out': 'It reads texts and calls of tools only (`_handle_artifact_parts`).' },
      },
    },
  },
  {
    name: 'BeeAI',
    folder: 'beeai',
    package: 'beeai-framework',
    own: 'beeai',
    answer: 'BeeAI did: say hello',
    roles: {
      'as a sub-agent of Lango': {
        faults: {
          stream: 'Its executor sends the answer in one piece, at the end.',
          cancel: 'Its executor aborts one controller of all runs: after a cancel, each request fails.',
        },
        without: {
          list: OLD,
          ...all(
            'Its executor ends each task, with the text of the answer.',
            ...(['ask', 'approve', 'file out'] as const),
          ),
        },
      },
      'with Lango as its sub-agent': {
        without: {
          ...all('`A2AAgent` has no call for cancel, get, list and push.', 'cancel', 'get', 'list', 'push'),
        },
      },
    },
  },
  {
    name: 'Agno',
    folder: 'agno',
    package: 'agno',
    own: 'agno',
    answer: 'Agno did: say hello',
    at: '/a2a/agents/clerk',
    roles: {
      'as a sub-agent of Lango': {
        faults: {
          errors: 'Its stream tells that a run completed which failed.',
          ...all('Its server has no calls for tasks at the address of its card.', 'get', 'unknown task'),
        },
        without: {
          list: OLD,
          ...all(
            'A task of its server never waits for input, and its files are addresses.',
            ...(['ask', 'approve', 'file out'] as const),
          ),
        },
      },
      'with Lango as its sub-agent': {
        without: all(
          'Its `RemoteAgent` reads no artifacts: the tool of its recipe calls a2a-sdk, whose row is above.',
          ...SDK_ONLY,
        ),
      },
    },
  },
  {
    name: 'Google ADK (JavaScript)',
    folder: 'adk',
    package: '@google/adk',
    language: 'js',
    own: 'adk',
    answer: 'ADK did: say hello',
    roles: {
      'as a sub-agent of Lango': {
        faults: {
          approve:
            '`toA2a` ignores a tool confirmation that comes over A2A (`remoteDelivered`), and completes the task without ' +
            'the call. An `A2AAgentExecutor` of your own with `allowRemoteToolConfirmation: true` takes it.',
          'unknown task':
            'Its server answers with an internal error, -32603 "Task not found". `toA2a` loads the CommonJS build of ' +
            '@a2a-js/sdk 0.3, whose parts have a class `A2AError` each and do not know the others.',
        },
        without: { list: OLD },
      },
      'with Lango as its sub-agent': {
        without: all(
          '`RemoteA2AAgent` reads the card, sends and follows. It has no call that shows the card, and none for cancel, ' +
            'get, list and push.',
          ...(['card', 'cancel', 'get', 'list', 'push'] as const),
        ),
      },
    },
  },
  {
    name: 'Strands (JavaScript)',
    folder: 'strands',
    package: '@strands-agents/sdk',
    language: 'js',
    own: 'strands',
    answer: 'Strands did: say hello',
    roles: {
      'as a sub-agent of Lango': {
        faults: {
          ask: 'Its executor completes the task with the interrupts of its agent as the answer, in JSON.',
        },
        without: {
          approve: 'Its interrupts ask for a text: see **ask**.',
          list: OLD,
          'file out': 'Its models answer with texts, and its executor leaves out the files of tools.',
        },
      },
      'with Lango as its sub-agent': {
        without: {
          ...all(
            '`A2AAgent` makes a new task in a new context for each request. A question is not in its result: the tool of ' +
              'its recipe reads it from the events.',
            ...(['ask', 'follow-up'] as const),
          ),
          ...all('`A2AAgent` has no call for cancel, get, list and push.', 'cancel', 'get', 'list', 'push'),
          ...all('`A2AAgent` sends and reads texts only.', 'file in', 'file out'),
        },
      },
    },
  },
  {
    name: 'VoltAgent',
    folder: 'voltagent',
    package: '@voltagent/core',
    language: 'js',
    own: 'voltagent',
    answer: 'Volt did: say hello',
    at: '/a2a/clerk',
    card: '/.well-known/clerk/agent-card.json',
    roles: {
      'as a sub-agent of Lango': {
        faults: {
          'follow-up':
            'Its `A2AServer` gives the agent the context but no user, and without a user its agent remembers nothing.',
        },
        without: {
          list: OLD,
          ...all(
            'Its tasks complete or fail with a text: none waits for input, and none has a file.',
            ...(['ask', 'approve', 'file out'] as const),
          ),
        },
      },
      'with Lango as its sub-agent': {
        without: all(
          'It has no A2A client: the tool of its recipe calls @a2a-js/sdk, whose row is above.',
          ...SDK_ONLY,
        ),
      },
    },
  },
  {
    name: 'Mastra',
    folder: 'mastra',
    package: '@mastra/core',
    language: 'js',
    own: 'mastra',
    answer: 'Mastra did: say hello',
    at: '/api/a2a/clerk',
    card: '/api/.well-known/clerk/agent-card.json',
    roles: {
      'as a sub-agent of Lango': {
        without: {
          list: OLD,
          'file out': 'Its server writes texts and data only.',
        },
      },
      'with Lango as its sub-agent': {
        without: {
          'follow-up': '`A2AAgent` makes a new task in a new context for each request.',
          ...all('`A2AAgent` has no call for cancel, get, list and push.', 'cancel', 'get', 'list', 'push'),
          ...all('`A2AAgent` sends and reads texts only.', 'file in', 'file out'),
        },
      },
    },
  },
];
