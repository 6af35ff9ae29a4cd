import { NO_SUCH_SETTING, readPath, writePath } from '../config.ts';
import { isRecord, type Json } from '../guards.ts';
import { isAbsolutePath } from '../state-paths.ts';
import { grantProblem } from './permissions.ts';
import {
  AGENT_IDS,
  CLIENT,
  field,
  isAgentId,
  isAgentIds,
  isClient,
  isNames,
  isNumber,
  isThinking,
  isWord,
  NAMES,
  orNull,
  type Report,
  THINKING,
  toolsField,
} from './run-settings-values.ts';

/** Settings that are lists or objects: what is good in them is taken, each part that is not is reported by itself. */

/** Files that only a main agent is given (R51): no setting hands them to a sub-agent. */
const MAIN_ONLY = ['soul.md', 'identity.md', 'user.md', 'heartbeat.md', 'bootstrap.md'];
const USD_MAX = 1_000_000;

const PATH = { expected: 'null, or an absolute path' };
const isPath = (value: unknown) => typeof value === 'string' && isAbsolutePath(value);

const AGENT_FIELDS = [
  field('name', null, orNull(isWord), { expected: 'null, or a name' }),
  field('workspace', null, orNull(isPath), PATH),
  field('agentDir', null, orNull(isPath), PATH),
  field('subagents.client', null, orNull(isClient), { expected: CLIENT }),
  field('subagents.model', null, orNull(isWord), { expected: 'null, or the name of a model' }),
  field('subagents.thinking', null, orNull(isThinking), { expected: THINKING }),
  field('subagents.allowAgents', null, orNull(isAgentIds), { expected: AGENT_IDS }),
  toolsField('subagents.tools.deny', [], isNames, { expected: NAMES }),
  toolsField('subagents.tools.allow', null, orNull(isNames), { expected: `null, or ${NAMES}` }),
];
const AGENT_KEYS = ['id', ...AGENT_FIELDS.map(({ key }) => key)];

/** Whether the file, by its name, is one that sub-agents are never given. */
export function isMainOnly(path: string): boolean {
  const name = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
  return MAIN_ONLY.includes(name.trim().toLowerCase());
}

/** Permissions; what is none allows nothing. */
export function readGrants(found: unknown, report: Report): unknown {
  if (!isNames(found)) {
    report('', found, `expected ${NAMES}; [] is used`);
    return [];
  }
  return (found as string[]).filter((grant, index) => {
    const problem = grantProblem(grant);
    if (problem !== undefined) report(`[${index}]`, grant, problem);
    return problem === undefined;
  });
}

/** Names of files, without those that are for a main agent only. */
export function readContextFiles(found: unknown, report: Report): unknown {
  if (!isNames(found)) {
    report('', found, `expected ${NAMES}; ["AGENTS.md","TOOLS.md"] is used`);
    return ['AGENTS.md', 'TOOLS.md'];
  }
  const names = found as string[];
  for (const [index, name] of names.entries()) {
    if (isMainOnly(name)) report(`[${index}]`, name, 'sub-agents are never given this file; it is left out');
  }
  return names.filter((name) => !isMainOnly(name));
}

/** The agents with an id; of each, the fields that are good. An id counts once, in whatever case. */
export function readAgents(found: unknown, report: Report): unknown {
  if (!Array.isArray(found)) {
    report('', found, 'expected a list of agents, like [{"id": "reviewer"}]; [] is used');
    return [];
  }
  const agents: Json[] = [];
  for (const [index, agent] of found.entries()) {
    const place = `[${index}]`;
    if (!isRecord(agent) || !isAgentId(agent.id)) {
      report(place, agent, 'expected an object with an "id" of letters, digits, - and _; it is left out');
    } else if (agents.some(({ id }) => id === String(agent.id).toLowerCase())) {
      report(place, agent, 'another agent has this id; it is left out');
    } else {
      agents.push(readAgent(agent, (inside, part, message) => report(place + inside, part, message)));
    }
  }
  return agents;
}

function readAgent(agent: Json, report: Report): Json {
  const taken: Json = { id: String(agent.id).toLowerCase() };
  for (const { key, read } of AGENT_FIELDS) {
    const found = readPath(agent, key);
    if (found === undefined) continue;
    writePath(
      taken,
      key,
      read(found, (inside, part, message) => report(`.${key}${inside}`, part, message)),
    );
  }
  reportUnknown(agent, '', report);
  return taken;
}

function reportUnknown(source: Json, section: string, report: Report): void {
  for (const [name, found] of Object.entries(source)) {
    const key = section + name;
    const isName = !name.includes('.');
    if (isName && AGENT_KEYS.includes(key)) continue;
    const isSection = isName && AGENT_KEYS.some((known) => known.startsWith(`${key}.`));
    if (isSection && isRecord(found)) reportUnknown(found, `${key}.`, report);
    else if (isSection) report(`.${key}`, found, 'expected an object; its settings have defaults');
    else report(`.${key}`, found, NO_SUCH_SETTING);
  }
}

/** The providers' models that have a price. What else is said about a provider is left to who said it. */
export function readProviders(found: unknown, report: Report): unknown {
  if (!isRecord(found)) {
    report('', found, 'expected an object of providers with their models; {} is used');
    return {};
  }
  const providers: Json = {};
  for (const [name, provider] of Object.entries(found)) {
    const models = isRecord(provider) ? (provider.models ?? []) : undefined;
    if (name === '__proto__' || !Array.isArray(models)) {
      report(`.${name}`, provider, 'expected an object with a list "models"; it is left out');
      continue;
    }
    const place = `.${name}.models`;
    providers[name] = {
      models: models.filter((model, index) => isModel(model, `${place}[${index}]`, report)),
    };
  }
  return providers;
}

function isModel(model: unknown, place: string, report: Report): boolean {
  if (!isRecord(model) || !isWord(model.id)) {
    report(place, model, 'expected an object with an "id"; it is left out');
    return false;
  }
  const { cost } = model;
  if (cost === undefined) return true; // A model without a price is no mistake.
  const isPrice = (value: unknown) => isNumber(value, USD_MAX) && value >= 0;
  const isOptional = (value: unknown) => value === undefined || value === null || isPrice(value);
  const isGood =
    isRecord(cost) &&
    isPrice(cost.input) &&
    isPrice(cost.output) &&
    isOptional(cost.cacheRead) &&
    isOptional(cost.cacheWrite);
  if (isGood) return true;
  const expected =
    '{"input": …, "output": …} in USD per million tokens, "cacheRead" and "cacheWrite" if known';
  report(`${place}.cost`, cost, `expected ${expected}; the model has no price`);
  return false;
}
