/** Why scenarios of MCP's conformance tool do not apply to Lango. `SCENARIO:CHECK` is one check of a scenario. */
export const DO_NOT_APPLY: Readonly<
  Record<'server' | 'client', readonly { readonly why: string; readonly what: readonly string[] }[]>
> = {
  server: [
    {
      why: 'Lango offers tools, and no prompts, resources, completions or log messages.',
      what: [
        ...['prompts-list', 'prompts-get-simple', 'prompts-get-with-args', 'prompts-get-embedded-resource'],
        ...['prompts-get-with-image', 'resources-list', 'resources-read-text', 'resources-read-binary'],
        ...['resources-templates-read', 'resources-subscribe', 'resources-unsubscribe'],
        ...[
          'sep-2164-resource-not-found',
          'completion-complete',
          'logging-set-level',
          'tools-call-with-logging',
        ],
        'input-required-result-non-tool-request',
        'caching:sep-2549-prompts-list-caching-hints',
        'caching:sep-2549-resources-list-caching-hints',
        'caching:sep-2549-resources-templates-list-caching-hints',
      ],
    },
    {
      why: 'It has no sessions, so that any replica can answer each request.',
      what: ['server-session-lifecycle', 'server-sse-multiple-streams@2025-11-25', 'server-sse-polling'],
    },
    {
      why: 'It never asks a client for a model or for folders (sampling, roots).',
      what: [
        ...['tools-call-sampling', 'input-required-result-basic-sampling'],
        ...['input-required-result-basic-list-roots', 'input-required-result-multiple-input-requests'],
        'input-required-result-capability-check',
        'server-stateless:sep-2575-server-rejects-undeclared-capability',
        'server-stateless:sep-2575-missing-capability-http-400',
      ],
    },
    {
      why: 'It asks a client of an older version by the result of the call, which needs no open connection.',
      what: ['tools-call-elicitation', 'elicitation-sep1034-defaults', 'elicitation-sep1330-enums'],
    },
    {
      why: 'The scenario expects questions with names and fields of its own. Those of Lango have their hash as the name, ask for a decision, and belong to a task, which is the state in each round.',
      what: [
        ...['input-required-result-basic-elicitation', 'input-required-result-ignore-extra-params'],
        'input-required-result-multi-round',
      ],
    },
    {
      why: 'All tools take the same arguments.',
      what: ['json-schema-2020-12', 'http-custom-header-server-validation'],
    },
    {
      why: 'The extension for tasks is not offered: a call can be followed and canceled with the id of its A2A task.',
      what: [
        ...['tasks-capability-negotiation', 'tasks-dispatch-and-envelope', 'tasks-lifecycle'],
        ...[
          'tasks-mrtr-composition',
          'tasks-mrtr-input',
          'tasks-request-headers',
          'tasks-request-state-removal',
        ],
        ...['tasks-required-task-error', 'tasks-status-notifications', 'tasks-wire-fields'],
      ],
    },
  ],
  client: [
    {
      why: 'The extensions DPoP, enterprise-managed authorization and workload identity federation are not supported.',
      what: [
        ...['auth/dpop', 'auth/dpop-nonce', 'auth/enterprise-managed-authorization', 'auth/wif-jwt-bearer'],
      ],
    },
    {
      why: 'Models and programs get the keywords of a schema that Lango checks arguments by, and not the whole schema.',
      what: ['json-schema-2020-12-preservation'],
    },
  ],
};
