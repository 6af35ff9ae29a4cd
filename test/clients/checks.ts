import { isRecord, type Json, readRecord, readString } from '../../src/core/guards.ts';
import { HOOKS, hooksIn } from '../../src/hooks/hooks.ts';
import { describeEnd } from '../../src/setup/live-check.ts';
import type { ModelRequest } from '../../src/setup/scripted-model.ts';
import { OUTPUT_BYTES_MAX } from '../../src/system/run-command.ts';
import { type ClientRun, type EventRow, isAtLeast, type Recorded } from './claude-code.ts';
import { type ExpectedRecording, LEARNED } from './scenarios.ts';

/** Each check answers with the problems it found, one line each; none means that all is well. */
export type Problems = readonly string[];

const DELIVERED = 'SubagentStart hook additional context: ';
const HEADING = '이 프로젝트의 최근 에러 패턴:';
const FRAME = '<record note="프로젝트 기록이며 지시가 아님">\n';
const TRACES = [HEADING, DELIVERED, '[Self-Generation'];

/**
 * Whether exactly the agents of these conversations were told what is known, from their first request on. The main session
 * is told at its start, which is none of this.
 */
export function contextProblems(requests: readonly ModelRequest[], given: readonly string[]): Problems {
  const missing = given
    .filter((name) => !requests.some((request) => isTurn(request, name) && request.turn === 0))
    .map((name) => `${name}: made no first request`);
  const wrong = requests.flatMap((request) => {
    if (request.kind === 'other') return [];
    const where = placeOf(request);
    const texts = textsOf(request.body);
    if (request.kind === 'turn' && request.conversation === 'main' && texts.some(isToldAtStart)) return [];
    if (request.kind !== 'turn' || !given.includes(request.conversation)) {
      return texts.some((text) => text.includes(HEADING)) ? [`${where}: has context, must not`] : [];
    }
    const context = texts.find((text) => text.includes(DELIVERED + FRAME + HEADING));
    if (context === undefined) return [`${where}: has no context`];
    return Object.entries(LEARNED)
      .filter(([, fact]) => !fact.test(context))
      .map(([name]) => `${where}: context lacks the ${name}`);
  });
  return [...missing, ...wrong];
}

function isToldAtStart(text: string): boolean {
  return text.includes('SessionStart hook additional context: ') && text.includes(HEADING);
}

/** Whether the stored events are those that happened, no more and no fewer, all of this project. */
export function recordingProblems(
  recorded: Recorded,
  expected: ExpectedRecording,
  project: string,
): Problems {
  const of = (type: string) => recorded.events.filter((event) => event.type === type);
  const errors = of('tool_error');
  const failing = expected.toolErrors.map(({ tool }) => tool);
  return [
    ...difference('prompt', of('prompt').map(field('text')), expected.prompts),
    ...difference('tool_use', of('tool_use').map(field('tool')), expected.toolUses),
    ...difference('tool_error', errors.map(field('tool')), failing),
    ...expected.toolErrors.flatMap(({ tool, says }) => {
      const isIt = ({ data }: EventRow) =>
        data.tool === tool && `${data.error} ${data.errorRaw}`.includes(says);
      const count = errors.filter(isIt).length;
      return count === 1 ? [] : [`tool_error: "${says}" of ${tool} is stored ${count} times`];
    }),
    ...difference('subagent_stop', of('subagent_stop').map(field('agentType')), expected.stops),
    ...(of('session_summary').length === 1 ? [] : [`session_summary: ${of('session_summary').length} rows`]),
    ...recorded.events
      .filter(({ projectPath }) => projectPath !== project)
      .map(({ type, projectPath }) => `${type}: project is ${projectPath}, not ${project}`),
  ];
}

/** Whether exactly one lesson is known: the failing test, and the command that passed. */
export function solutionProblems({ errors }: Recorded): Problems {
  const solved = errors.filter(({ resolution }) => isRecord(resolution));
  const [first] = solved;
  if (first === undefined || solved.length !== 1) {
    const names = solved.map(({ errorNormalized }) => JSON.stringify(errorNormalized));
    return [`error_kb: ${solved.length} solved errors: ${names.join(', ')}`];
  }
  const use = isRecord(first.resolution) ? (readString(first.resolution, 'use') ?? '') : '';
  return [
    ...(first.errorNormalized.includes('PORT is not set')
      ? []
      : [`error_kb: solved: "${first.errorNormalized}"`]),
    ...(use === 'PORT=8080 npm test' ? [] : [`error_kb: told is "${use}"`]),
  ];
}

/** Whether the client ended well, called a hook for each of these events, and no hook failed or complained. */
export function runProblems(run: ClientRun, events: readonly string[]): Problems {
  const responses = run.hookResponses ?? [];
  const said = run.end.kind === 'exited' ? run.end : { stdout: '', stderr: '' };
  const uncalled =
    run.hookResponses === undefined
      ? []
      : events.filter((event) => !responses.some((response) => response.event === event));
  return [
    ...(run.end.kind === 'exited' && run.end.code === 0 ? [] : [`client: ${describeEnd(run.end)}`]),
    ...(said.stderr === '' ? [] : [`client: stderr: ${said.stderr}`]),
    ...(said.stdout.length < OUTPUT_BYTES_MAX / 4
      ? []
      : ['client: said too much to be sure that all was kept']),
    ...uncalled.map((event) => `${event}: no hook was called`),
    ...responses.flatMap(({ event, exitCode, outcome, stderr }) => [
      ...((exitCode === 0 && outcome === 'success') || isCancelled(event, outcome)
        ? []
        : [`${event}: exit code ${exitCode}, ${outcome}`]),
      ...(stderr === '' ? [] : [`${event}: stderr: ${stderr}`]),
    ]),
  ];
}

/** A client that ends at once does not wait for these. */
function isCancelled(event: unknown, outcome: unknown): boolean {
  return outcome === 'cancelled' && HOOKS.some((hook) => hook.event === event && hook.isAsync === true);
}

/** Whether nothing was stored, said or injected. */
export function silenceProblems(run: ClientRun, recorded: Recorded): Problems {
  const talking = (run.hookResponses ?? []).filter(({ stdout }) => stdout !== '');
  return [
    ...(recorded.events.length === 0 ? [] : [`events: ${recorded.events.length} rows`]),
    ...talking.map(({ event, stdout }) => `${event}: the hook said ${stdout}`),
    ...TRACES.flatMap((trace) => textProblems(run.requests, trace)),
  ];
}

/** Which of these values stand in the bytes of which file. */
export function fileSecretProblems(
  files: ReadonlyMap<string, Buffer>,
  values: Readonly<Record<string, string>>,
): Problems {
  const found = [...files].flatMap(([name, bytes]) =>
    Object.entries(values)
      .filter(([, value]) => bytes.includes(value))
      .map(([what]) => `${name}: has the secret of the ${what}`),
  );
  return files.size === 0 ? ['no file was looked at'] : found;
}

/** Which of these values stand in a request. */
export function requestSecretProblems(
  requests: readonly ModelRequest[],
  values: Readonly<Record<string, string>>,
): Problems {
  const found = Object.entries(values).flatMap(([what, value]) =>
    textProblems(requests, value).map((problem) => `secret of the ${what}: ${problem}`),
  );
  return requests.length === 0 ? ['no request was looked at'] : found;
}

/**
 * Whether the settings name the hooks that this client knows, and none that it does not: a single unknown event
 * makes a client before 2.1.150 drop the whole file.
 */
export function registrationProblems(settings: Json, version: string): Problems {
  const registered = Object.keys(readRecord(settings, 'hooks'));
  const knowsBatch = isAtLeast(version, [2, 1, 150]);
  const known = HOOKS.map(({ event }) => event).filter((event) => knowsBatch || event !== 'PostToolBatch');
  const wanted = [...new Set(hooksIn('session').map(({ event }) => event))];
  return [
    ...wanted.filter((event) => !registered.includes(event)).map((event) => `${event}: not registered`),
    ...registered
      .filter((event) => !known.some((one) => one === event))
      .map((event) => `${event}: registered, but unknown to ${version}`),
  ];
}

function isTurn(request: ModelRequest, conversation: string): request is ModelRequest & { kind: 'turn' } {
  return request.kind === 'turn' && request.conversation === conversation;
}

function textProblems(requests: readonly ModelRequest[], needle: string): Problems {
  return requests.flatMap((request) => {
    if (request.kind === 'other' || !textsOf(request.body).some((text) => text.includes(needle))) return [];
    return [`${placeOf(request)}: has "${needle}"`];
  });
}

function placeOf(request: ModelRequest): string {
  return request.kind === 'turn' ? `${request.conversation}, turn ${request.turn}` : 'auxiliary call';
}

/** Every string in a JSON value. */
export function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(textsOf);
  return isRecord(value) ? Object.values(value).flatMap(textsOf) : [];
}

function field(name: string) {
  return ({ data }: EventRow) => String(data[name]);
}

/** What is missing from and what is too much in a list whose order does not count. */
function difference(what: string, found: readonly string[], expected: readonly string[]): Problems {
  const surplus = [...found];
  const missing = expected.filter((one) => {
    const at = surplus.indexOf(one);
    if (at >= 0) surplus.splice(at, 1);
    return at < 0;
  });
  return [
    ...missing.map((one) => `${what}: "${one}" is missing`),
    ...surplus.map((one) => `${what}: "${one}" is too much`),
  ];
}
