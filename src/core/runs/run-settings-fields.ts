import type { ConfigProblem } from '../config.ts';
import { isRecord } from '../guards.ts';
import { readAgents, readContextFiles, readGrants, readProviders } from './run-settings-lists.ts';
import {
  AGENT_IDS,
  BOOLEAN,
  CLIENT,
  COUNT_MAX,
  field,
  isAgentIds,
  isBoolean,
  isClient,
  isCount,
  isNames,
  isNumber,
  isThinking,
  isWord,
  oneOf,
  orNull,
  type Report,
  type RunField,
  THINKING,
  toolsField,
} from './run-settings-values.ts';

const COUNT = 'a whole number from 1 on';
const TOOLS = 'a list of tools, like ["exec", "web_fetch"]';
const FROM_0 = 'a number from 0 on';
const LIMIT = 'a number above 0, or null for no limit';
const SECONDS_MAX = 30 * 86_400;
const MINUTES_MAX = 10 * 365 * 1440;

const isLimit = orNull((value) => isNumber(value, Number.MAX_SAFE_INTEGER) && value > 0);
const upTo = (most: number) => (value: unknown) => isNumber(value, most) && value >= 0;

/** One row per setting of background runs, in the order in which they are listed. Hooks do not load this. */
export const RUN_FIELDS: readonly RunField[] = [
  ...inSection('agents.defaults.subagents', [
    field('maxConcurrent', 8, isCount, {
      expected: COUNT,
      description: 'how many sub-agents run at the same time',
    }),
    field('maxQueued', 100, upTo(COUNT_MAX), {
      expected: FROM_0,
      description: 'how many of a project may wait',
    }),
    field('archiveAfterMinutes', 60, upTo(MINUTES_MAX), {
      expected: FROM_0,
      description: 'when a run that has ended and was announced is archived; 0: never',
    }),
    field('runTimeoutSeconds', 0, upTo(SECONDS_MAX), {
      expected: FROM_0,
      description: 'how long a sub-agent may take; 0: no limit',
    }),
    field('idleTimeoutSeconds', 0, upTo(SECONDS_MAX), {
      expected: FROM_0,
      description: 'how long a sub-agent may say nothing; 0: no limit',
    }),
    field('client', null, orNull(isClient), {
      expected: CLIENT,
      description: "the program of sub-agents; null: the requester's",
    }),
    field('model', null, orNull(isWord), {
      expected: 'null, or the name of a model',
      description: 'the model of sub-agents; null: the client chooses',
    }),
    field('thinking', null, orNull(isThinking), {
      expected: THINKING,
      description: 'how much sub-agents think; null: the client chooses',
    }),
    field('allowAgents', null, orNull(isAgentIds), {
      expected: AGENT_IDS,
      description: 'which agents may be spawned; null: only the own',
    }),
    field('worktree', 'never', oneOf(['auto', 'always', 'never']), {
      expected: '"auto", "always" or "never"',
      description: 'whether a sub-agent works in a git worktree of its own',
    }),
    {
      ...field('contextFiles', ['AGENTS.md', 'TOOLS.md'], isNames, {
        expected: 'a list of files, like ["AGENTS.md"], and none that is for main agents',
        description: 'files of the workspace that sub-agents are given',
      }),
      read: readContextFiles,
    },
  ]),
  {
    ...field('agents.list', [], Array.isArray, {
      expected: 'a list of agents, like [{"id": "reviewer"}]',
      description: 'agents with an id, and a workspace, logins, a model or tools of their own',
    }),
    read: readAgents,
  },
  ...inSection('tools.subagents', [
    toolsField('tools.deny', [], isNames, {
      expected: TOOLS,
      description: 'tools that sub-agents do not have; stronger than allow',
    }),
    toolsField('tools.allow', null, orNull(isNames), {
      expected: `null, or ${TOOLS}`,
      description: 'the only tools that sub-agents have; null: all that are not denied',
    }),
    {
      ...field('allow', [], isNames, {
        expected: 'a list of permissions, like ["edit", "exec(npm test:*)"]',
        description: 'what sub-agents may do where their requester would be asked: edit, all, or rules',
      }),
      read: readGrants,
    },
    field('strict', true, isBoolean, {
      expected: BOOLEAN,
      description:
        'false only warns of a denied tool that a client cannot be kept from, and of names that mean nothing',
    }),
  ]),
  ...inSection('announce', [
    field('mode', 'turn', oneOf(['turn', 'inline', 'raw']), {
      expected: '"turn", "inline" or "raw"',
      description: 'who words a result: one more turn, the first prompt asks for it, or nobody',
    }),
    field('timeoutSeconds', 60, (value) => isNumber(value, 600) && value >= 1, {
      expected: 'a number from 1 to 600',
      description: 'how long that one more turn may take',
    }),
    field('skipOnFailure', true, isBoolean, {
      expected: BOOLEAN,
      description: 'false announces a failed run also when the model would not',
    }),
  ]),
  ...inSection('budget', [
    ...limits('run', 'one run'),
    ...limits('requester', 'all runs of a project'),
    ...limits('day', 'all runs of a day'),
  ]),
  {
    ...field('models.providers', {}, isRecord, {
      expected: 'an object of providers with their models',
      description: 'what models cost, in USD per million tokens',
    }),
    read: readProviders,
  },
];

/** What is in force at a field, and what is wrong with what stands there. */
export function readRunField(
  { key, read, ...field }: RunField,
  found: unknown,
): { value: unknown; problems: ConfigProblem[] } {
  if (found === undefined) return { value: structuredClone(field.default), problems: [] };
  const problems: ConfigProblem[] = [];
  const report: Report = (inside, part, message) => {
    problems.push({ key: `${key}${inside}`, found: part, message });
  };
  return { value: read(found, report), problems };
}

function inSection(section: string, fields: readonly RunField[]): RunField[] {
  return fields.map((one) => ({ ...one, key: `${section}.${one.key}` }));
}

function limits(scope: string, who: string): RunField[] {
  return [
    field(`${scope}.tokens`, null, isLimit, { expected: LIMIT, description: `tokens that ${who} may take` }),
    field(`${scope}.usd`, null, isLimit, { expected: LIMIT, description: `USD that ${who} may cost` }),
  ];
}
