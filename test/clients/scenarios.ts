import { join } from 'node:path';
import { answer, type Script, say, startSubAgent, useTool } from '../../src/setup/scripted-model.ts';

/** One session: what the user says, what the model does, and what has to come of it. */
export type Scenario = {
  readonly prompt: string;
  readonly script: Script;
  /** Conversations whose agents must be given context. All others must not. */
  readonly given: readonly string[];
  readonly recorded: ExpectedRecording;
};

/** What the hooks have to store of a session. The order does not count: agents run side by side. */
export type ExpectedRecording = {
  readonly prompts: readonly string[];
  /** The tool of each call that succeeded. */
  readonly toolUses: readonly string[];
  readonly toolErrors: readonly ExpectedError[];
  /** The type of each sub-agent that stopped. */
  readonly stops: readonly string[];
};

export type ExpectedError = { readonly tool: string; readonly says: string };

/** What a code agent must be told after `learn`. */
export const LEARNED: Readonly<Record<string, RegExp>> = {
  heading: /이 프로젝트의 최근 에러 패턴:/,
  error: /PORT is not set/,
  'fix in words': /해결: (?!\{).*PORT=8080 npm test/,
};

const FOREGROUND = { run_in_background: false };
const NPM_TEST = useTool('Bash', { command: 'npm test', description: 'Run the tests' });
const NPM_TEST_WITH_PORT = useTool('Bash', { command: 'PORT=8080 npm test', description: 'Run the tests' });
const NO_PORT: ExpectedError = { tool: 'Bash', says: 'PORT is not set' };

/** A test fails for want of a setting, and passes with it. */
export function learn(project: string): Scenario {
  const settings = join(project, 'settings.ini');
  return {
    prompt: '[[conv:main]] Make the test pass.',
    script: {
      main: [
        answer(NPM_TEST),
        answer(useTool('Read', { file_path: settings })),
        answer(NPM_TEST_WITH_PORT),
        answer(say('The test passes.')),
      ],
    },
    given: [],
    recorded: {
      prompts: ['[[conv:main]] Make the test pass.'],
      toolUses: ['Read', 'Bash'],
      toolErrors: [NO_PORT],
      stops: [],
    },
  };
}

/** Sub-agents one after the other, the client waiting for each: two that come with the client, three of the user's. */
export function foreground(project: string): Scenario {
  const own = { researcher: 'researcher', scribe: 'scribe' };
  const types = { executor: 'executor', general: 'general-purpose', ...own };
  const starts = Object.entries(types).map(([name, type]) => answer(startSubAgent(type, name, FOREGROUND)));
  const given = ['executor', 'general', 'scribe'];
  return delegation(project, [...starts, answer(say('All done.'))], { given, types });
}

/** The client's own default: the main agent goes on, and hears of the end by a notification. */
export function background(project: string): Scenario {
  const start = answer(startSubAgent('executor', 'executor'));
  const turns = [start, answer(say('Started.')), answer(say('Noticed.'))];
  return delegation(project, turns, { given: ['executor'], types: { executor: 'executor' } });
}

/** Four sub-agents started by one message. */
export function fanOut(project: string): Scenario {
  const types = { executor: 'executor', general: 'general-purpose', explorer: 'Explore', planner: 'Plan' };
  const starts = Object.entries(types).map(([name, type]) => startSubAgent(type, name, FOREGROUND));
  const given = ['executor', 'general'];
  return delegation(project, [answer(...starts), answer(say('All done.'))], { given, types });
}

/** A sub-agent that starts sub-agents. */
export function nested(project: string): Scenario {
  const inner = delegation(project, [], {
    given: ['outer', 'inner'],
    types: { outer: 'general-purpose', inner: 'executor', looker: 'Explore' },
  });
  const outer = [
    answer(startSubAgent('executor', 'inner', FOREGROUND), startSubAgent('Explore', 'looker', FOREGROUND)),
    answer(say('Both are done.')),
  ];
  const main = [answer(startSubAgent('general-purpose', 'outer', FOREGROUND)), answer(say('All done.'))];
  const toolUses = inner.recorded.toolUses.filter((tool) => tool === 'Agent');
  return {
    ...inner,
    script: { ...inner.script, main, outer },
    recorded: { ...inner.recorded, toolUses: [...toolUses, 'Read', 'Read'] },
  };
}

/**
 * Every kind of outcome in one session: failures that a hook reports, one that only the batch shows, a success that
 * solves one of them and successes that solve nothing, and a sub-agent whose end arrives as a notification.
 */
export function everyOutcome(project: string): Scenario {
  const [settings, test] = [join(project, 'settings.ini'), join(project, 'test.sh')];
  const main = [
    answer(NPM_TEST),
    answer(NPM_TEST_WITH_PORT),
    answer(useTool('Bash', { command: 'git --version', description: 'Unrelated' })),
    answer(useTool('Read', { file_path: test })),
    answer(
      useTool('Edit', { file_path: test, old_string: 'not in the file', new_string: 'x' }),
      useTool('Bash', { command: 'cat missing.txt', description: 'Read what is not there' }),
    ),
    answer(useTool('Read', { file_path: settings })),
    answer(addPort(settings)),
    answer(startSubAgent('executor', 'executor')),
    answer(say('Started.')),
    answer(say('Noticed.')),
  ];
  const executor = [
    answer(useTool('Bash', { command: 'sh -c "echo engine stalled; exit 5"', description: 'Fail' })),
    answer(useTool('Bash', { command: 'echo recovered', description: 'Succeed' })),
    answer(say('done')),
  ];
  return {
    prompt: '[[conv:main]] Do all sorts of things.',
    script: { main, executor },
    given: ['executor'],
    recorded: {
      prompts: ['[[conv:main]] Do all sorts of things.'],
      toolUses: ['Bash', 'Bash', 'Read', 'Read', 'Edit', 'Agent', 'Bash'],
      toolErrors: [
        NO_PORT,
        { tool: 'Edit', says: 'String to replace not found' },
        { tool: 'Bash', says: 'missing.txt' },
        { tool: 'Bash', says: 'engine stalled' },
      ],
      stops: ['executor'],
    },
  };
}

/** A sub-agent that never gets an answer: the service refuses its very first request. */
export function refused(project: string): Scenario {
  const main = [answer(startSubAgent('executor', 'executor', FOREGROUND)), answer(say('It failed.'))];
  const scenario = delegation(project, main, { given: [], types: {} });
  const type = 'invalid_request_error';
  const refusal = { kind: 'error', status: 400, type, message: 'no such luck' } as const;
  return {
    ...scenario,
    script: { ...scenario.script, executor: [refusal] },
    recorded: { ...scenario.recorded, toolErrors: [{ tool: 'Agent', says: 'no such luck' }] },
  };
}

/** Values that must never be stored. Put together here, so that no scanner takes this file for a leak. */
export const SECRETS = {
  prompt: ['ghp', 'Zq4Tn8Vb2Xc6Lm0Ks9Dj3Hf7Gw1Rp5YeUa'].join('_'),
  output: ['sk', 'ant', 'api03', 'Wm7Qz2Lk9Xv4Tn8Rb3Hc6Yd1Jf5Gp0Ks-AA'].join('-'),
  failure: ['AKIA', 'Q3EXW7ZTLNB5RMVK'].join(''),
  command: ['glpat', 'Tx9Wq4Zn7Bk2Vm6Lc8Rd'].join('-'),
  path: ['ghp', 'Hn5Wc9Xk3Bv7Mz1Qr6Td0Lj4Fs8Gp2YaEu'].join('_'),
  edit: ['xoxb', '274918365092', '481937265103', 'Vq7Nz3Kt9Bx5Wm1Rc8Hd4Lf0'].join('-'),
} as const;

/** What stands in the project of `secrets`: a file with a secret in its path, a command that works the second time. */
export const SECRET_FILES = {
  [`keys/${SECRETS.path}/notes.txt`]: 'line one\n',
  'once.sh': 'test -f done || { touch done; echo "Error: not ready"; exit 1; }\n',
};

/** A session that comes across secrets everywhere. */
export function secrets(project: string): Scenario {
  const file = join(project, 'keys', SECRETS.path, 'notes.txt');
  const fail = `echo "Error: login refused, password=${SECRETS.failure} key ${SECRETS.failure}"; exit 3`;
  const once = useTool('Bash', { command: `sh once.sh ${SECRETS.command}`, description: 'Try' });
  const main = [
    answer(useTool('Bash', { command: `echo ANTHROPIC_API_KEY=${SECRETS.output}`, description: 'Print' })),
    answer(useTool('Bash', { command: fail, description: 'Fail' })),
    answer(once),
    answer(once),
    answer(useTool('Read', { file_path: file })),
    answer(useTool('Edit', { file_path: file, old_string: SECRETS.edit, new_string: 'x' })),
    answer(useTool('Edit', { file_path: file, old_string: 'line one', new_string: 'line two' })),
    answer(say('Done.')),
  ];
  const prompt = `[[conv:main]] Log in with ${SECRETS.prompt}, please.`;
  return {
    prompt,
    script: { main },
    given: [],
    recorded: {
      prompts: [prompt.replace(SECRETS.prompt, '[REDACTED]')],
      toolUses: ['Bash', 'Bash', 'Read', 'Edit'],
      toolErrors: [
        { tool: 'Bash', says: 'login refused' },
        { tool: 'Bash', says: 'not ready' },
        { tool: 'Edit', says: 'String to replace not found' },
      ],
      stops: [],
    },
  };
}

type Delegation = {
  readonly given: readonly string[];
  /** Conversation of a sub-agent to its type. */
  readonly types: Readonly<Record<string, string>>;
};

/** A session whose sub-agents each read a file and then end. */
function delegation(project: string, main: Script[string], { given, types }: Delegation): Scenario {
  const read = useTool('Read', { file_path: join(project, 'settings.ini') });
  const jobs = Object.keys(types).map((name) => [name, [answer(read), answer(say(`${name} is done`))]]);
  return {
    prompt: '[[conv:main]] Delegate the job.',
    script: { main, ...Object.fromEntries(jobs) },
    given,
    recorded: {
      prompts: ['[[conv:main]] Delegate the job.'],
      toolUses: Object.keys(types).flatMap(() => ['Agent', 'Read']),
      toolErrors: [],
      stops: Object.values(types),
    },
  };
}

function addPort(file: string) {
  const replaced = { old_string: 'name = shop', new_string: 'name = shop\nport = 8080' };
  return useTool('Edit', { file_path: file, ...replaced });
}
