import type { Language } from '../../core/told-texts.ts';
import { type Phase, phaseName } from '../../orchestrate/prompts/phase-gates.ts';
import {
  gateOf,
  isAtWork,
  markOf,
  type PartStanding,
  type Standing,
  type WorkStanding,
} from '../../orchestrate/standing.ts';
import { formatDuration, formatUsd } from '../../runs/model/stats.ts';
import { cutToWidth } from '../terminal/width.ts';

/** How an orchestration stands, as lines of a terminal. Pure: a standing, a width and a time in, lines out. */

export type Frame = {
  readonly columns: number;
  readonly nowMs: number;
  /** Messages to the main conversation that wait until it has ended. */
  readonly waiting: number;
};

const NAME_WIDTH_MAX = 24;

/** The frame that is drawn over itself: a heading, one line for each part, and what waits. None is wider than the terminal. */
export function frameLines(standing: Standing, { columns, nowMs, waiting }: Frame): string[] {
  const { number, language, status, createdAtMs, endedAtMs, usage, prompt, others, works } = standing;
  const took = formatDuration((endedAtMs ?? nowMs) - createdAtMs);
  const cost = usage.costUsd === null ? 'cost n/a' : formatUsd(usage.costUsd);
  const parts = others.filter((part) => isAtWork(part) || works.length === 0);
  const rows = [
    ...works.map((work): [string, string] => [work.agent, workWords(work, language, nowMs)]),
    ...parts.map((part): [string, string] => [part.key, partWords(part, nowMs)]),
  ];
  const names = rows.map(([name]) => cutToWidth(name, NAME_WIDTH_MAX));
  const width = Math.max(0, ...names.map((name) => Bun.stringWidth(name)));
  const lines = [
    `🧭 Orchestration ${number} · ${status.replace('_', ' ')} · ${took} · ${cost}`,
    `   ${prompt}`,
    ...rows.map(([, words], at) => {
      const name = names[at] ?? '';
      return `   ${name}${' '.repeat(Math.max(0, width - Bun.stringWidth(name)))}  ${words}`;
    }),
    ...(waiting === 0 ? [] : [`   queue: ${waiting} waiting`]),
  ];
  return lines.map((line) => cutToWidth(line, columns));
}

function workWords(work: WorkStanding, language: Language, nowMs: number): string {
  const { phase, phases, attempt, part, reason, status } = work;
  const at = `${phases.indexOf(phase) + 1}/${phases.length} ${phaseName(phase, language)}`;
  const tried = attempt > 1 ? ` · attempt ${attempt}` : '';
  const now = status === 'working' && part !== null ? ` · ${partWords(part, nowMs)}` : '';
  const gate = status === 'waiting' || status === 'working' ? markOf(work) : `${gateOf(work, language)} ·`;
  return `${gate} ${at}${tried}${now}${reason === null ? '' : ` · ${reason}`}`;
}

function partWords(part: PartStanding, nowMs: number): string {
  const { state, client, startedAtMs, endedAtMs, error } = part;
  const tookMs = startedAtMs === null ? 0 : (endedAtMs ?? nowMs) - startedAtMs;
  const took = tookMs < 1000 ? '' : ` ${formatDuration(tookMs)}`;
  return `${client === null ? '' : `${client} `}${state}${took}${reasonWords(error)}`;
}

/**
 * What has happened between two standings, one line each, for where nothing can be drawn over. `before` undefined: all of
 * it. Each line says what it is about, so that the same thing happening again is another line.
 */
export function newsLines(before: Standing | undefined, after: Standing): string[] {
  const known = new Set(before === undefined ? [] : happenings(before));
  return happenings(after).filter((line) => !known.has(line));
}

function happenings({ status, others, works, language }: Standing): string[] {
  return [
    `🧭 ${status.replace('_', ' ')}`,
    ...others.map((part) => `[${part.key}] ${stateWords(part)}`),
    ...works.flatMap((work) => workHappenings(work, language)),
  ];
}

function workHappenings(work: WorkStanding, language: Language): string[] {
  const { agent, phase, status, reason, attempt, part, verdicts } = work;
  const name = (one: Phase, number: number) =>
    `[${agent} ${one}] ${phaseName(one, language)}${number > 1 ? `, attempt ${number}` : ''}`;
  const isOver = status !== 'waiting' && status !== 'working';
  return [
    ...verdicts.map(
      (one) => `${name(one.phase, one.number)}: ${one.pass ? 'PASS' : `FAIL: ${one.feedback}`}`,
    ),
    ...(attempt === 0 || part === null ? [] : [`${name(phase, attempt)}: ${stateWords(part)}`]),
    ...(isOver ? [`[${agent}] ${gateOf(work, language)}${reasonWords(reason)}`] : []),
  ];
}

/** Without how long it took: that it has begun is said once. */
function stateWords({ state, client, error }: PartStanding): string {
  const now = state === 'starting' ? 'running' : state;
  return `${client === null ? '' : `${client} `}${now}${reasonWords(error)}`;
}

function reasonWords(reason: string | null): string {
  return reason === null ? '' : `: ${reason}`;
}
